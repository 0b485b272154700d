"""Collects what every package contains beside the program: the version, a README and the licences."""

import dataclasses
import gzip
import io
import pathlib
import re
import tarfile
import tomllib

from binary import Binary
from notices import third_party
from refusal import RefusedError

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "packaging"

# 2020-01-01, the time of every file in a package, so that the same input gives the same bytes. Zip files know no time
# before 1980.
TIME = 1577836800

SUMMARY = "Chats with tools that never lose, repeat or misreport what they did"


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a package contains beside the program."""

    version: str
    readme: bytes
    licences: dict[str, bytes]
    """The files of the licences by name, ours and those of the libraries inside."""

    @classmethod
    def collect(cls, binary: Binary) -> "Contents":
        """Reads the version and the texts from the repository."""
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
        version = workspace["package"]["version"]
        if not re.fullmatch(r"\d+\.\d+\.\d+", version):
            raise RefusedError(f"PyPI and Debian write the version {version} differently: take MAJOR.MINOR.PATCH")
        licences = {name: (ROOT / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE")}
        licences["THIRD-PARTY.txt"] = third_party(binary.platform.rust)
        return cls(version, (HERE / "README.md").read_bytes(), licences)


def tar_gz(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Returns a compressed archive of these files, each with its bytes and its mode."""
    archive = io.BytesIO()
    compressed = gzip.GzipFile(fileobj=archive, mode="wb", mtime=TIME)
    with compressed, tarfile.open(fileobj=compressed, mode="w") as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, TIME
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()
