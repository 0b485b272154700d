"""Collects the licences of the libraries that a binary contains: most of them ask for that."""

import json
import pathlib
import re
import subprocess

from refusal import RefusedError

# The names of files with a licence or a notice.
NAME = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)\b.*", re.IGNORECASE)


def third_party(root: pathlib.Path, target: str) -> bytes:
    """Returns the licences of all crates that the program for this target contains, each text once."""
    words = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    try:
        ended = subprocess.run(words, cwd=root / "program", capture_output=True, check=False)
    except FileNotFoundError:
        raise RefusedError("there is no `cargo`, which knows the libraries inside: install Rust") from None
    if ended.returncode != 0:
        raise RefusedError(f"`cargo metadata` failed: {ended.stderr.decode(errors='replace').strip()}")
    metadata = json.loads(ended.stdout)
    crates_of: dict[str, list[str]] = {}
    licences = []
    for crate in contained(metadata):
        name = f"{crate['name']} {crate['version']}"
        licences.append(f"{name}: {crate['license'] or 'see its text'}")
        for text in texts_of(pathlib.Path(crate["manifest_path"]).parent):
            crates_of.setdefault(text, []).append(name)
    parts = ["The program contains these libraries, under these licences.\n\n" + "\n".join(licences)]
    parts += [f"Licence of {', '.join(crates)}:\n\n{text}" for text, crates in crates_of.items()]
    return ("\n\n" + "-" * 80 + "\n\n").join(parts).encode() + b"\n"


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


def texts_of(folder: pathlib.Path) -> list[str]:
    """Returns the licences of a crate and of the C++ that it brings along."""
    files = [file for place in (folder, folder / "llama.cpp") if place.is_dir() for file in place.iterdir()]
    chosen = sorted(file for file in files if file.is_file() and NAME.fullmatch(file.name))
    return [file.read_text(errors="replace").strip() for file in chosen]
