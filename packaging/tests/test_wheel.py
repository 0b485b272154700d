"""The wheel installs with pip, without a network, on every system that its tag names."""

import re
import sys
import time
import zipfile

from support import CACHE, PackageTest, made


class Wheel(PackageTest):
    """The wheel of this machine's platform."""

    def test_pip_installs_a_program_that_answers(self) -> None:
        """As `pip install madang` does, from a folder."""
        [wheel] = made("wheel")
        began = time.monotonic()
        self.done(sys.executable, "-m", "venv", "venv")
        self.done("venv/bin/pip", "install", "--no-index", "--find-links", wheel.parent, "madang")
        self.answers(self.folder / "venv/bin/madang")
        self.assert_quick("wheel", began, [wheel])
        self.done("venv/bin/pip", "uninstall", "--yes", "madang")
        self.assertFalse((self.folder / "venv/bin/madang").exists())
        self.assertFalse((self.folder / "venv/lib/madang").exists())

    def test_uvx_runs_the_program_without_an_installation(self) -> None:
        """As `uvx madang` does, from a file."""
        [wheel] = made("wheel")
        # The Python of this test, because uv would look for others, and download one.
        options = ["--offline", "--no-config", "--python", sys.executable]
        said = self.done(CACHE / "venv/bin/uvx", *options, "--from", wheel, "madang", "--version")
        self.assertRegex(said, r"\Amadang [0-9.]+\n\Z")

    def test_its_tag_is_the_oldest_that_auditwheel_finds(self) -> None:
        """The symbols of the binary decide, so neither an older nor a newer tag is true."""
        [wheel] = made("wheel")
        said = " ".join(self.done(CACHE / "venv/bin/python", "-m", "auditwheel", "show", wheel).split())
        found = re.search(r'is consistent with the following platform tag: "(.+?)"', said)
        self.assertIsNotNone(found, said)
        self.assertEqual(wheel.name.removesuffix(".whl").split("-")[-1], found[1])

    def test_it_contains_its_readme_and_all_licences(self) -> None:
        """Ours, and those of the libraries inside."""
        [wheel] = made("wheel")
        with zipfile.ZipFile(wheel) as files:
            names = {name.split("/", 1)[1] for name in files.namelist()}
            [metadata] = [files.read(name).decode() for name in files.namelist() if name.endswith("METADATA")]
            [others] = [files.read(name).decode() for name in files.namelist() if name.endswith("THIRD-PARTY.txt")]
        self.assertLessEqual({"licenses/LICENSE-MIT", "licenses/LICENSE-APACHE"}, names)
        self.assertIn("madang chat", metadata)
        for library in ("llama-cpp-sys-2", "ring", "tokio"):
            self.assertRegex(others, rf"(?m)^{library} [0-9.]+: .")
            self.assertRegex(others, rf"(?m)^Licence of .*\b{library} ")
        # llama.cpp lies in the crate of its bindings.
        self.assertIn("ggml authors", others)
