"""Makes the Debian package: the program, and a service that its administrator can enable."""

import gzip
import os
import pathlib
import shutil
import subprocess
import tempfile

from binary import Binary
from contents import HERE, IS_QUICK, TIME, Contents
from refusal import RefusedError

FOLDER = HERE / "debian"

# Where each file of `packaging/debian/` comes.
PLACES = {
    "madang.service": "usr/lib/systemd/system/madang.service",
    "madang.socket": "usr/lib/systemd/system/madang.socket",
    "default": "etc/default/madang",
}
SCRIPTS = ["postinst", "prerm", "postrm"]
DOC = "usr/share/doc/madang"


def make(binary: Binary, contents: Contents, out: pathlib.Path) -> list[pathlib.Path]:
    """Writes `madang_VERSION_ARCHITECTURE.deb`."""
    if binary.platform.deb is None:
        raise RefusedError(f"{binary.path} is not for Linux, and Debian packages are")
    for tool in ("dpkg-deb", "dpkg-shlibdeps"):
        if shutil.which(tool) is None:
            raise RefusedError(f"there is no `{tool}`: make the package on Debian or Ubuntu, with dpkg-dev")
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder, "tree")
        placed = files(binary, contents)
        for path, (content, mode) in placed.items():
            place(tree / path, content, mode)
        # Also by this folder dpkg-shlibdeps knows that a library is of the same package.
        (tree / "DEBIAN").mkdir()
        compiled = [tree / path for path, (content, _) in placed.items() if content.startswith(b"\x7fELF")]
        size = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file()) // 1024
        place(tree / "DEBIAN" / "control", control(binary, contents, size, depends(compiled)).encode(), 0o644)
        place(tree / "DEBIAN" / "conffiles", b"/etc/default/madang\n", 0o644)
        for script in SCRIPTS:
            place(tree / "DEBIAN" / script, (FOLDER / script).read_bytes(), 0o755)
        package = out / f"madang_{contents.version}-1_{binary.platform.deb}.deb"
        level = "-z1" if IS_QUICK else "-z6"
        run(["dpkg-deb", "--root-owner-group", "-Zxz", level, "--build", str(tree), str(package)], tree)
    return [package]


def files(binary: Binary, contents: Contents) -> dict[str, tuple[bytes, int]]:
    """Returns the files of the package by their paths, each with its bytes and its mode."""
    placed = {path: ((FOLDER / name).read_bytes(), 0o644) for name, path in PLACES.items()}
    # It may contain keys of models behind an API; systemd reads it as root.
    placed["etc/default/madang"] = (placed["etc/default/madang"][0], 0o640)
    placed |= {f"usr/{path}": file for path, file in binary.files().items()}
    placed[f"{DOC}/README.md"] = (contents.readme, 0o644)
    placed[f"{DOC}/THIRD-PARTY.txt.gz"] = (gzip.compress(contents.licences["THIRD-PARTY.txt"], mtime=TIME), 0o644)
    placed[f"{DOC}/copyright"] = (copyright_of(contents), 0o644)
    placed[f"{DOC}/changelog.Debian.gz"] = (gzip.compress(changelog(contents).encode(), mtime=TIME), 0o644)
    return placed


def place(path: pathlib.Path, content: bytes, mode: int) -> None:
    """Writes a file with this mode, and folders that all may read."""
    for folder in reversed([path.parent, *path.parent.parents]):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)
    path.write_bytes(content)
    path.chmod(mode)


def depends(compiled: list[pathlib.Path]) -> str:
    """Returns the packages whose libraries these files need, in the versions that have their symbols."""
    with tempfile.TemporaryDirectory() as folder:
        source = b"Source: madang\n\nPackage: madang\nArchitecture: any\n"
        place(pathlib.Path(folder, "debian", "control"), source, 0o644)
        said = run(["dpkg-shlibdeps", "-O", *map(str, compiled)], pathlib.Path(folder))
    return said.strip().removeprefix("shlibs:Depends=")


def control(binary: Binary, contents: Contents, size: int, libraries: str) -> str:
    """Returns the description of the package."""
    description = (FOLDER / "control").read_text()
    return description.format(
        version=f"{contents.version}-1",
        architecture=binary.platform.deb,
        size=size,
        libraries=libraries,
        maintainer=maintainer(),
    )


def maintainer() -> str:
    """Returns who is named as the maintainer, by the variables that Debian's tools read."""
    name = os.environ.get("DEBFULLNAME", "The Madang contributors")
    return f"{name} <{os.environ.get('DEBEMAIL', 'madang@packages.invalid')}>"


def copyright_of(contents: Contents) -> bytes:
    """Returns the licences in the form that Debian reads."""
    lines = contents.licences["LICENSE-MIT"].decode().strip().splitlines()
    mit = "\n".join(f" {line}" if line.strip() else " ." for line in lines)
    return (FOLDER / "copyright").read_text().format(mit=mit).encode()


def changelog(contents: Contents) -> str:
    """Returns the shortest changelog that Debian accepts. `CHANGELOG.md` of the repository says what is new."""
    entry = f"madang ({contents.version}-1) unstable; urgency=medium\n\n  * Release {contents.version}.\n"
    return f"{entry}\n -- {maintainer()}  Wed, 01 Jan 2020 00:00:00 +0000\n"


def run(words: list[str], folder: pathlib.Path) -> str:
    """Runs a tool of Debian in this folder and returns what it prints."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(TIME), "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    if ended.returncode != 0:
        raise RefusedError(f"`{words[0]}` failed: {ended.stderr.strip()}")
    return ended.stdout
