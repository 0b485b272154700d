"""Collects the licences of the libraries that a binary contains: most of them ask for that."""

import html.parser
import json
import pathlib
import re
import subprocess

from refusal import RefusedError

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The names of files with a licence or a notice: such as LICENSE, LICENSE_MIT, LICENSE-2.0.txt.
NAME = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)([-_ ][^/]*?)?(\.(md|txt|rst|html))?", re.IGNORECASE)

# The parts of llama.cpp that the program contains. Some of their sources have a notice of their own.
SOURCES = ("ggml/src/*.*", "ggml/src/ggml-cpu/**/*.*", "ggml/src/ggml-metal/**/*.*", "src/**/*.*")
COMMENT = re.compile(r"(?:^[ \t]*//[^\n]*\n?)+|/\*.*?\*/", re.MULTILINE | re.DOTALL)
NOTICE = re.compile(r"\bcopyright\b", re.IGNORECASE)


def third_party(target: str) -> bytes:
    """Returns the licences of all crates that the program for this target contains, each text once, and of Rust's own
    library."""
    words = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(said_by("cargo", *words))
    crates_of: dict[str, list[str]] = {}
    licences = []
    for crate in contained(metadata):
        name = f"{crate['name']} {crate['version']}"
        licences.append(f"{name}: {crate['license'] or 'see its text'}")
        for text in dict.fromkeys(texts_of(crate)):
            crates_of.setdefault(text, []).append(name)
    parts = ["The program contains these libraries, under these licences.\n\n" + "\n".join(licences)]
    parts += [f"Licence of {', '.join(crates)}:\n\n{text}" for text, crates in crates_of.items()]
    parts.append(of_standard_library(pathlib.Path(said_by("rustc", "--print", "sysroot").strip())))
    return ("\n\n" + "-" * 80 + "\n\n").join(parts).encode() + b"\n"


def said_by(*words: str) -> str:
    """Returns what a tool of Rust prints."""
    try:
        ended = subprocess.run(words, cwd=ROOT / "program", capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RefusedError(f"there is no `{words[0]}`, which knows the libraries inside: install Rust") from None
    if ended.returncode != 0:
        raise RefusedError(f"`{words[0]} {words[1]}` failed: {ended.stderr.strip()}")
    return ended.stdout


def of_standard_library(toolchain: pathlib.Path) -> str:
    """Returns the notices of Rust's standard library, which every toolchain brings as a page."""
    page = toolchain / "share/doc/rust/COPYRIGHT-library.html"
    if not page.is_file():
        raise RefusedError(f"the toolchain in {toolchain} has no COPYRIGHT-library.html: install Rust by rustup")
    text = PageText()
    text.feed(read(page))
    text.close()
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", "".join(text.pieces)).strip()


class PageText(html.parser.HTMLParser):
    """Collects the text of a page, without its head."""

    def __init__(self) -> None:
        """Begins with no text."""
        super().__init__()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keeps a piece of text."""
        self.pieces.append(data)

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        """Forgets the title when the body begins."""
        if tag == "body":
            self.pieces.clear()


def contained(metadata: dict) -> list[dict]:
    """Returns the crates that the program is linked from, sorted, without those of the repository."""
    crates = {crate["id"]: crate for crate in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found: set[str] = set()
    waiting = [crate["id"] for crate in crates.values() if crate["name"] == "madang-cli"]
    while waiting:
        crate = waiting.pop()
        if crate in found:
            continue
        found.add(crate)
        waiting += [dep["pkg"] for dep in nodes[crate]["deps"] if is_linked(dep)]
    others = [crates[crate] for crate in found if crates[crate]["source"] is not None]
    return sorted(others, key=lambda crate: (crate["name"], crate["version"]))


def is_linked(dependency: dict) -> bool:
    """Returns whether a dependency is more than a tool of the build or of tests."""
    return any(kind["kind"] is None for kind in dependency["dep_kinds"])


def texts_of(crate: dict) -> list[str]:
    """Returns the licences of a crate, and of what it brings along from others and in C++."""
    folder = pathlib.Path(crate["manifest_path"]).parent
    # In a folder LICENSES the files have the names of licences.
    chosen = [file for file in files_in(folder, "**/*") if NAME.fullmatch(file.name) or file.parent.name == "LICENSES"]
    own = [file for file in chosen if file.parent in (folder, folder / "LICENSES")]
    texts = [read(file) for file in own] or [usual_text(crate)]
    texts += [read(file) for file in chosen if file not in own]
    sources = [source for pattern in SOURCES for source in files_in(folder / "llama.cpp", pattern)]
    return texts + [notice for source in sources for notice in notices_in(read(source))]


def files_in(folder: pathlib.Path, pattern: str) -> list[pathlib.Path]:
    """Returns the files that match a pattern, in the same order on every system."""
    return sorted((file for file in folder.glob(pattern) if file.is_file()), key=lambda file: file.as_posix())


def read(file: pathlib.Path) -> str:
    """Returns a text without empty lines around it."""
    return file.read_text(encoding="utf-8", errors="replace").strip()


def usual_text(crate: dict) -> str:
    """Returns the licence of a crate that brings no text and can be taken under the MIT licence, whose text is ours."""
    name = f"{crate['name']} {crate['version']}"
    if "MIT" not in re.split(r" OR |/", crate["license"] or ""):
        raise RefusedError(f"{name} brings no text of its licence, {crate['license']}: add it in packaging/notices.py")
    owners = ", ".join(crate["authors"]) or f"the authors of {crate['name']}"
    permission = read(ROOT / "LICENSE-MIT").partition("Permission is hereby granted")
    return f"MIT License\n\nCopyright (c) {owners}\n\n{permission[1]}{permission[2]}"


def notices_in(source: str) -> list[str]:
    """Returns the comments of a source in C++ that name who owns it."""
    comments = [match[0] for match in COMMENT.finditer(source) if NOTICE.search(match[0])]
    return [re.sub(r"(?m)^[ \t]*(//|/\*+|\*+/?)? ?| *\*/$", "", comment).strip() for comment in comments]
