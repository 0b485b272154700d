"""Collects what every package contains beside the program: the version, a README and the licences."""

import dataclasses
import gzip
import io
import os
import pathlib
import re
import tarfile
import time
import tomllib
import zipfile

from binary import Binary
from notices import third_party
from refusal import RefusedError

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "packaging"

# 2020-01-01, the time of every file in a package, so that the same input gives the same bytes. Zip files know no time
# before 1980.
TIME = 1577836800

# Compressing a debug program takes most of the time of the tests, and says nothing about a release.
IS_QUICK = bool(os.environ.get("MADANG_QUICK_PACKAGES"))

THIRD_PARTY = "THIRD-PARTY.txt"

SUMMARY = "Chats with tools that never lose, repeat or misreport what they did"


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a package contains beside the program."""

    version: str
    readme: bytes
    licences: dict[str, bytes]
    """The files of the licences by name, ours and those of the libraries inside."""

    @property
    def own_licences(self) -> dict[str, bytes]:
        """Returns the licences of what is ours alone."""
        return {name: text for name, text in self.licences.items() if name != THIRD_PARTY}

    @classmethod
    def collect(cls, binary: Binary) -> "Contents":
        """Reads the version and the texts from the repository."""
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
        version = workspace["package"]["version"]
        if not re.fullmatch(r"\d+\.\d+\.\d+", version):
            raise RefusedError(f"PyPI and Debian write the version {version} differently: take MAJOR.MINOR.PATCH")
        licences = {name: (ROOT / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE")}
        licences[THIRD_PARTY] = third_party(binary.platform.rust)
        return cls(version, (HERE / "README.md").read_bytes(), licences)


def tar_gz(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Returns a compressed archive of these files, each with its bytes and its mode."""
    archive = io.BytesIO()
    compressed = gzip.GzipFile(fileobj=archive, mode="wb", mtime=TIME, compresslevel=1 if IS_QUICK else 9)
    with compressed, tarfile.open(fileobj=compressed, mode="w") as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, TIME
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def zipped(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Returns a zip file of these files, each with its bytes and its mode."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(TIME)[:6])
            # A regular file; the upper half of this number is its mode on Unix.
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            zip_file.writestr(entry, content, compresslevel=1 if IS_QUICK else 6)
    return archive.getvalue()
