"""The release workflow calls what is there, and nothing that others can exchange."""

import pathlib
import re
import unittest

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

    def test_it_makes_each_kind_for_linux(self) -> None:
        """The kinds are those of scripts/package.sh."""
        kinds = re.search(r"(?m)^# usage: scripts/package\.sh (\S+) ", (ROOT / "scripts/package.sh").read_text())[1]
        self.assertIn(f"linux-x64, runner: ubuntu-22.04, kinds: {' '.join(kinds.split('|'))} }}", WORKFLOW)
