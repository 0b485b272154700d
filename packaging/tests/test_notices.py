"""The packages name the licence of every library inside, with its text."""

import pathlib
import re
import sys
import tempfile
import unittest

from support import BINARY, ROOT

sys.path.insert(0, str(ROOT / "packaging"))

from binary import PLATFORMS, head_of  # noqa: E402
from notices import of_standard_library, texts_of, third_party  # noqa: E402
from refusal import RefusedError  # noqa: E402


class Notices(unittest.TestCase):
    """The text for the target of the binary, and the rules on crates that are made up."""

    def setUp(self) -> None:
        """Makes a folder for a crate."""
        folder = tempfile.TemporaryDirectory(prefix="madang-crate-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def crate(self, files: dict[str, str], licence: str | None = "MIT") -> dict:
        """Writes a crate and returns what cargo says of it."""
        for name, text in {"Cargo.toml": "", **files}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        manifest = str(self.folder / "Cargo.toml")
        return {"name": "a", "version": "1.0.0", "license": licence, "authors": ["Kim"], "manifest_path": manifest}

    def test_each_library_of_the_program_has_a_text(self) -> None:
        """Those too that bring none, and those whose file has an unusual name."""
        said = third_party(PLATFORMS[head_of(BINARY)].rust).decode()
        listed = re.findall(r"(?m)^([a-z0-9_-]+ [0-9]+\.[0-9]+\.\S+): ", said.split("\n" + "-" * 80)[0])
        self.assertGreater(len(listed), 200)
        heads = re.findall(r"(?m)^Licence of (.+):$", said)
        covered = {crate for head in heads for crate in head.split(", ")}
        self.assertEqual(set(listed) - covered, set())
        for notice in ("Mozilla Foundation", "Jeffrey Quesnelle and Bowen Peng", "Sean Lawlor", "Xavier Gillard"):
            self.assertIn(notice, said)
        self.assertIn("\n\nCopyright notices for The Rust Standard Library\n\n", said)
        self.assertIn("The Rust Project Developers", said)

    def test_the_page_of_the_standard_library_becomes_text(self) -> None:
        """Without its tags, its title and the room between them."""
        body = "<h1>Notices</h1>\n \n\n<p><b>By:</b> Kim &lt;k&gt;</p>\n"
        page = f"<html><head><title>T</title></head>\n<body>\n{body}</body></html>"
        (self.folder / "share/doc/rust").mkdir(parents=True)
        (self.folder / "share/doc/rust/COPYRIGHT-library.html").write_text(page)
        self.assertEqual(of_standard_library(self.folder), "Notices\n\nBy: Kim <k>")

    def test_a_toolchain_without_that_page_is_refused(self) -> None:
        """A package without a licence that it must have is none."""
        with self.assertRaisesRegex(RefusedError, "has no COPYRIGHT-library.html: install Rust by rustup$"):
            of_standard_library(self.folder)

    def test_files_are_found_by_their_names(self) -> None:
        """In any folder, and not what only begins alike."""
        named = [
            "LICENSE_MIT",
            "LICENCE.md",
            "NOTICE",
            "src/vendor/LICENSE-2",
            "LICENSES/MIT.txt",
            "UNLICENSE",
            "COPYING",
        ]
        others = ["README.md", "src/license.rs", "licensed.txt", "cmake/license.cmake", ".github/copyrights.yml"]
        found = texts_of(self.crate({name: name for name in named + others}))
        self.assertEqual(sorted(found), sorted(named))

    def test_a_crate_without_a_text_gets_that_of_its_licence(self) -> None:
        """With the names of those who wrote it, if the licence is one that we have the text of."""
        for licence in ("MIT", "Apache-2.0 OR MIT", "MIT/Apache-2.0"):
            [text] = texts_of(self.crate({}, licence))
            self.assertRegex(text, r"\AMIT License\n\nCopyright \(c\) Kim\n\nPermission is hereby granted")
        for licence in ("BSD-3-Clause", "MIT AND BSD-3-Clause", "(MIT OR Zlib) AND ISC", None):
            with self.assertRaisesRegex(RefusedError, "^a 1.0.0 brings no text of its licence"):
                texts_of(self.crate({}, licence))

    def test_a_notice_in_a_source_of_llama_cpp_is_taken(self) -> None:
        """The comment around it, and not those without one."""
        notices = ["Copyright 2024 Somebody\n\nYou may.", "By Kim. Copyright (c) 2023 Kim.", "Copyright Lee\nYou may."]
        source = f"""
// {notices[0].replace(chr(10), chr(10) + "// ")}

#include <a>
// It is fast.
int a;
  // {notices[1]}
/*
 * {notices[2].replace(chr(10), chr(10) + " * ")}
 */
"""
        other = "// Copyright 2020 Another\n"
        files = {"ggml/src/ggml-cpu/a/b.cpp": source, "ggml/src/ggml-sycl/c.cpp": other, "LICENSE": "llama.cpp"}
        files = {f"llama.cpp/{name}": text for name, text in files.items()}
        self.assertEqual(texts_of(self.crate({"LICENSE": "crate", **files})), ["crate", "llama.cpp", *notices])
        # The licence of what it brings along is not its own.
        (self.folder / "LICENSE").unlink()
        self.assertRegex(texts_of(self.crate(files))[0], "^MIT License")
