"""All crates can be published, and none carries what its users do not need."""

import json
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def cargo(*words: str) -> str:
    """Runs cargo in the repository and returns what it prints."""
    ended = subprocess.run(["cargo", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if ended.returncode != 0:
        raise AssertionError(ended.stderr)
    return ended.stdout


class Crates(unittest.TestCase):
    """The members of the workspace that are published."""

    @classmethod
    def setUpClass(cls) -> None:
        """Reads the manifests, and the files of each package."""
        packages = json.loads(cargo("metadata", "--locked", "--no-deps", "--format-version", "1"))["packages"]
        cls.crates = {package["name"]: package for package in packages if package["publish"] is None}
        listed = ["package", "--list", "--allow-dirty", "--locked", "-p"]
        cls.files = {name: cargo(*listed, name).splitlines() for name in cls.crates}

    def test_the_program_and_all_that_it_needs_are_published(self) -> None:
        """As docs/install.md says."""
        self.assertIn("madang-cli", self.crates)
        self.assertEqual(len(self.crates), 10, self.crates.keys())

    def test_each_has_a_readme_licences_and_documentation(self) -> None:
        """They do not depend on the address of the repository."""
        for name, crate in self.crates.items():
            with self.subTest(name):
                self.assertEqual(crate["documentation"], f"https://docs.rs/{name}")
                self.assertEqual(crate["license"], "MIT OR Apache-2.0")
                self.assertTrue(crate["description"])
                self.assertLessEqual({crate["readme"], "LICENSE-MIT", "LICENSE-APACHE"}, set(self.files[name]))

    def test_links_of_a_published_readme_lead_to_docs_rs(self) -> None:
        """A relative link leads nowhere on crates.io."""
        for name, crate in self.crates.items():
            text = pathlib.Path(crate["manifest_path"]).parent.joinpath(crate["readme"]).read_text()
            links = re.findall(r"\]\(([^)]*)\)", text)
            self.assertTrue(links, name)
            self.assertEqual([link for link in links if not link.startswith("https://docs.rs/madang")], [], name)

    def test_none_carries_tests_or_training(self) -> None:
        """Its sources, its README, its licences, and for the library its pages."""
        usual = r"src/.*|README\.md|LICENSE-\w+|Cargo\.(toml|toml\.orig|lock)|\.cargo_vcs_info\.json"
        pages = {f"docs/{page}.md" for page in ("crate", "embedding", "events", "tools")}
        more = {"madang": pages, "madang-server": {"openapi.json"}}
        for name, files in self.files.items():
            with self.subTest(name):
                tests = {file for file in files if re.search(r"(^|/)tests(/|\.rs$)", file)}
                odd = {file for file in files if not re.fullmatch(usual, file)}
                self.assertEqual((tests, odd), (set(), more.get(name, set())))

    def test_all_can_be_published(self) -> None:
        """Without compiling each once more: the other suites do that."""
        cargo("publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty", "--locked")
