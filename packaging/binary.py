"""Reads for which system a binary was built, and what it needs there."""

import dataclasses
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

from refusal import RefusedError

LAUNCHER = pathlib.Path(__file__).resolve().parent / "launcher.sh"


@dataclasses.dataclass(frozen=True)
class Platform:
    """A system and a processor, by the names that each registry gives them."""

    rust: str
    npm_os: str
    npm_cpu: str
    wheel: str | None
    deb: str | None

    @property
    def npm(self) -> str:
        """Returns the name of the npm package in our scope."""
        return f"{self.npm_os}-{self.npm_cpu}"

    @property
    def is_linux(self) -> bool:
        """Returns whether the binary uses the GNU C library of a Linux system."""
        return self.npm_os == "linux"

    @property
    def program(self) -> str:
        """Returns the name of the program's file."""
        return "madang.exe" if self.npm_os == "win32" else "madang"


# By the format of the file and the number of the processor in its head. The tag of a wheel for Linux depends on the
# binary.
PLATFORMS = {
    ("elf", 0x3E): Platform("x86_64-unknown-linux-gnu", "linux", "x64", None, "amd64"),
    ("elf", 0xB7): Platform("aarch64-unknown-linux-gnu", "linux", "arm64", None, "arm64"),
    ("mach-o", 0x0100000C): Platform("aarch64-apple-darwin", "darwin", "arm64", "macosx_11_0_arm64", None),
    ("pe", 0x8664): Platform("x86_64-pc-windows-msvc", "win32", "x64", "win_amd64", None),
}

# The oldest glibc whose systems have these versions of the libraries of GCC, as the policies of manylinux say.
OLDEST_GLIBC = {
    "GLIBCXX_3.4": [(19, 17), (22, 24), (24, 27), (28, 31), (29, 34), (30, 35), (33, 39)],
    "CXXABI_1.3": [(7, 17), (10, 24), (11, 27), (12, 31), (13, 34), (15, 39)],
    "GCC": [(4, 17), (7, 27), (12, 35), (14, 39)],
}

# The libraries that every system with glibc and a program in C++ has.
USUAL_LIBRARIES = {
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
}


@dataclasses.dataclass(frozen=True)
class Binary:
    """A finished binary, and its libraries if `scripts/portable.sh` built it."""

    path: pathlib.Path
    platform: Platform
    libraries: list[pathlib.Path]
    glibc: int | None
    """The second part of the oldest version of glibc that they run with, such as 35 of 2.35."""

    @classmethod
    def read(cls, path: pathlib.Path) -> "Binary":
        """Reads the head of the file and, on Linux, the versions of the symbols that it needs."""
        if not path.is_file():
            raise RefusedError(f"there is no binary {path}: build it with `cargo build --release --bin madang`")
        platform = PLATFORMS.get(head_of(path))
        if platform is None:
            raise RefusedError(f"{path} is no program for Linux (x86-64, arm64), macOS (arm64) or Windows (x86-64)")
        if not platform.is_linux:
            return cls(path, platform, [], None)
        libraries = libraries_of(path)
        return cls(path, platform, libraries, max(oldest_glibc(file) for file in [path, *libraries]))

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Returns the files by their paths below any folder, each with its bytes and its mode.

        A program that has libraries lies beside them, and a script in its usual place starts it.
        """
        if not self.libraries:
            return {f"bin/{self.platform.program}": (self.stripped(self.path), 0o755)}
        return {
            "bin/madang": (LAUNCHER.read_bytes(), 0o755),
            "lib/madang/madang": (self.stripped(self.path), 0o755),
            **{f"lib/madang/{library.name}": (self.stripped(library), 0o644) for library in self.libraries},
        }

    def stripped(self, file: pathlib.Path) -> bytes:
        """Returns a file without the symbols that only debuggers read."""
        if not self.platform.is_linux:
            return file.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder, file.name)
            run_tool("strip", "--strip-all", "--remove-section=.comment", "-o", str(stripped), str(file))
            return stripped.read_bytes()


def head_of(path: pathlib.Path) -> tuple[str, int]:
    """Returns the format of the file and the number of its processor."""
    with path.open("rb") as file:
        head = file.read(4096)
    if head[:4] == b"\x7fELF" and head[4:6] == b"\x02\x01":
        return "elf", struct.unpack_from("<H", head, 18)[0]
    if head[:4] == b"\xcf\xfa\xed\xfe":
        return "mach-o", struct.unpack_from("<I", head, 4)[0]
    if head[:2] == b"MZ":
        begin = struct.unpack_from("<I", head, 0x3C)[0]
        if head[begin : begin + 4] == b"PE\0\0":
            return "pe", struct.unpack_from("<H", head, begin + 4)[0]
    return "unknown", 0


def libraries_of(path: pathlib.Path) -> list[pathlib.Path]:
    """Returns the libraries of llama.cpp beside a program that needs some of them."""
    if not unusual_libraries(path):
        return []
    libraries = sorted(path.parent.glob("lib*.so*"))
    names = {library.name for library in libraries}
    for file in [path, *libraries]:
        if missing := unusual_libraries(file) - names:
            listed = ", ".join(sorted(missing))
            raise RefusedError(f"{file} needs {listed}, which not every system has: build with scripts/portable.sh")
    return libraries


def unusual_libraries(path: pathlib.Path) -> set[str]:
    """Returns the names of the libraries that a file needs and that not every system has."""
    dynamic = run_tool("readelf", "--dynamic", "--wide", str(path)).decode()
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    return {name for name in needed - USUAL_LIBRARIES if not name.startswith("ld-linux")}


def oldest_glibc(path: pathlib.Path) -> int:
    """Returns the oldest glibc whose systems have all symbols that the file needs."""
    versions = run_tool("readelf", "--version-info", "--wide", str(path)).decode()
    # manylinux_2_17 is the oldest for both processors. The other version has a name in place of a number.
    oldest = 36 if "GLIBC_ABI_DT_RELR" in versions else 17
    # The last number counts; a version without it is the first of its library.
    for library, number in re.findall(r"Name: (GLIBC_2|GLIBCXX_3\.4|CXXABI_1\.3|GCC)[._]?([0-9]*)", versions):
        version = int(number or 0)
        oldest = max(oldest, version if library == "GLIBC_2" else glibc_with(library, version))
    return oldest


def glibc_with(library: str, version: int) -> int:
    """Returns the oldest glibc whose systems have this version of a library of GCC."""
    for newest, glibc in OLDEST_GLIBC[library]:
        if version <= newest:
            return glibc
    raise RefusedError(f"{library} {version} is newer than the table in packaging/binary.py: add its row")


def run_tool(*words: str) -> bytes:
    """Runs a program of binutils and returns what it prints."""
    if shutil.which(words[0]) is None:
        raise RefusedError(f"there is no `{words[0]}`: install binutils")
    ended = subprocess.run(words, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if ended.returncode != 0:
        raise RefusedError(f"`{words[0]}` failed: {ended.stderr.decode(errors='replace').strip()}")
    return ended.stdout
