"""The release workflow calls what is there, and nothing that others can exchange."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from binary import PLATFORMS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text()


class Release(unittest.TestCase):
    """The text of the workflow, which cannot be run here."""

    def test_each_action_is_pinned_to_a_commit(self) -> None:
        """A tag can be moved to other code."""
        used = re.findall(r"uses: (\S+)(.*)", WORKFLOW)
        self.assertTrue(used)
        loose = [words for words in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[0-9.]+", "".join(words))]
        self.assertEqual(loose, [])

    def test_each_script_that_it_calls_exists(self) -> None:
        """Also the tests by name."""
        scripts = set(re.findall(r"\bscripts/[a-z-]+\.sh|packaging/[a-z./]+", WORKFLOW))
        self.assertIn("scripts/package.sh", scripts)
        self.assertEqual([script for script in scripts if not (ROOT / script).is_file()], [])
        tests = set(re.findall(r"\btest_[a-z]+", WORKFLOW))
        self.assertIn("test_wheel", tests)
        self.assertEqual([test for test in tests if not (ROOT / f"packaging/tests/{test}.py").is_file()], [])

    def test_the_program_for_linux_on_x86_64_runs_on_any_processor(self) -> None:
        """It is built by the script for that, and tested so."""
        build = re.search(r"if: matrix\.system == 'linux-x64'\n +run: \|\n((?: {10}.*\n)+)", WORKFLOW)[1]
        self.assertIn("scripts/portable.sh --locked", build)
        self.assertIn("MADANG_PORTABLE: ${{ matrix.system == 'linux-x64' && '1' || '' }}", WORKFLOW)

    def test_it_makes_each_kind_for_linux(self) -> None:
        """The kinds are those of scripts/package.sh."""
        kinds = re.search(r"(?m)^# usage: scripts/package\.sh (\S+) ", (ROOT / "scripts/package.sh").read_text())[1]
        self.assertIn(f"linux-x64, runner: ubuntu-22.04, kinds: {' '.join(kinds.split('|'))} }}", WORKFLOW)

    def test_the_program_for_macos_runs_where_its_wheel_says(self) -> None:
        """The compilers build for this version, and the tag of the wheel names it."""
        [wanted] = re.findall(r'MACOSX_DEPLOYMENT_TARGET: "(\d+)\.(\d+)"', WORKFLOW)
        [tag] = {platform.wheel for platform in PLATFORMS.values() if platform.npm_os == "darwin"}
        self.assertEqual(tag, f"macosx_{wanted[0]}_{wanted[1]}_arm64")

    def test_the_draft_has_each_file_once_and_the_sums_of_all_archives(self) -> None:
        """Whether Windows has built or not. Each system makes the launcher of npm, and one of them is taken."""
        words = textwrap.dedent(re.search(r"name: one folder, .*\n +run: \|\n((?: {10}.*\n)+)", WORKFLOW)[1])
        for systems in (["linux-x64", "macos-arm64"], ["linux-x64", "macos-arm64", "windows-x64"]):
            with tempfile.TemporaryDirectory() as folder:
                there = pathlib.Path(folder)
                (there / "packaging").symlink_to(ROOT / "packaging")
                for system in systems:
                    built = there / "built" / system
                    built.mkdir(parents=True)
                    archive = f"madang-1.2.3-{system}.{'zip' if 'windows' in system else 'tar.gz'}"
                    for name in (archive, f"madang-{system}-1.2.3.tgz", "madang-1.2.3.tgz", "SHA256SUMS"):
                        (built / name).write_text(system)
                env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
                subprocess.run(["bash", "-eo", "pipefail", "-c", words], cwd=there, check=True, env=env)
                self.assertEqual((there / "dist/madang-1.2.3.tgz").read_text(), "linux-x64")
                self.assertEqual(len(list((there / "dist").iterdir())), 2 * len(systems) + 3)
                ends = {"linux-x64": "tar.gz", "macos-arm64": "tar.gz", "windows-x64": "zip"}
                sums = [
                    f"{hashlib.sha256(system.encode()).hexdigest()}  madang-1.2.3-{system}.{ends[system]}\n"
                    for system in systems
                ]
                self.assertEqual((there / "dist/SHA256SUMS").read_text(), "".join(sums))
