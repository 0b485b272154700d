"""What the tests of packages share: the packages, made once, a clean folder, and the question that each answers."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ["MADANG_BIN"]).resolve()
# Whether the binary is that of `scripts/portable.sh`.
IS_PORTABLE = bool(os.environ.get("MADANG_PORTABLE"))
# What `scripts/setup.sh packages` brings: `root.tar`, a small Debian, and `venv` with auditwheel and uv.
CACHE = pathlib.Path(os.environ["MADANG_PACKAGES"])

# "Find protocols that are good for sleep": the bundled model must call a tool, and then answers.
QUESTION = "수면에 좋은 프로토콜 찾아줘\n"

# From the beginning of the installation to the end of the first answer, and the size of a package.
MOST_SECONDS = 15
MOST_BYTES = 40_000_000

# No step takes longer, however busy the machine is.
PATIENCE = 300

_out = tempfile.TemporaryDirectory(prefix="madang-packages-")


@functools.cache
def made(kind: str) -> list[pathlib.Path]:
    """Makes the packages of this kind from the binary, once for all tests, and returns their files."""
    words = [ROOT / "scripts/package.sh", kind, BINARY, _out.name]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if ended.returncode != 0:
        raise AssertionError(ended.stderr)
    return [pathlib.Path(line) for line in ended.stdout.splitlines()]


def unpacked(folder: pathlib.Path) -> pathlib.Path:
    """Unpacks the archive into a folder and returns that of the archive."""
    archive, _ = made("archive")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    [inside] = folder.glob("madang-*")
    return inside


class PackageTest(unittest.TestCase):
    """A test with a clean folder, in which it installs."""

    def setUp(self) -> None:
        """Makes the folder and an environment without anything of the developer's."""
        folder = tempfile.TemporaryDirectory(prefix="madang-package-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.home = self.folder / "home"
        self.home.mkdir()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}

    def run_words(self, *words: str | pathlib.Path, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs a command in the clean environment and waits for its end."""
        options = {"cwd": self.folder, "env": self.env, "timeout": PATIENCE, **options}
        return subprocess.run(words, capture_output=True, text=True, check=False, **options)

    def done(self, *words: str | pathlib.Path, **options: object) -> str:
        """Runs a command that must succeed and returns what it prints."""
        ended = self.run_words(*words, **options)
        self.assertEqual(ended.returncode, 0, f"{words}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    def answers(self, *program: str | pathlib.Path) -> None:
        """Asks the bundled model one question through this program. It must look the answer up with a tool."""
        said = self.done(*program, "chat", "--json", "--locale", "ko", input=QUESTION)
        events = [json.loads(line) for line in said.splitlines()]
        ends = [event["ending"] for event in events if event["type"] == "turn_ended"]
        self.assertEqual(ends, ["answered"], said)
        self.assertIn("search_catalog", said)

    def assert_quick(self, kind: str, began: float, packages: list[pathlib.Path]) -> None:
        """Prints the figures of a package and compares them with the aims."""
        seconds = time.monotonic() - began
        size = sum(package.stat().st_size for package in packages)
        print(f"figure: {kind}: {seconds:.1f} s to the first answer, {size / 1e6:.1f} MB", file=sys.stderr)
        self.assertLessEqual(seconds, MOST_SECONDS)
        self.assertLessEqual(size, MOST_BYTES)
