"""`npx madang chat` starts the program of the platform, and the launcher is as if it were not there."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tarfile
import time

from support import PATIENCE, PackageTest, made


class Npm(PackageTest):
    """The launcher and the package of this machine's platform."""

    def setUp(self) -> None:
        """Keeps npm's cache in the clean folder."""
        super().setUp()
        self.env |= {"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false"}

    def install(self, *packages: pathlib.Path) -> None:
        """Installs packages from their files."""
        (self.folder / "package.json").write_text("{}")
        self.done("npm", "install", "--offline", "--no-package-lock", *packages)

    def test_npx_starts_a_program_that_answers(self) -> None:
        """As `npx madang chat` does, from files."""
        launcher, program = made("npm")
        began = time.monotonic()
        self.install(launcher, program)
        self.answers("npx", "--offline", "madang")
        self.assert_quick("npm", began, [launcher, program])

    def test_exit_codes_pass_through(self) -> None:
        """Wrong usage is 2, also through npx."""
        self.install(*made("npm"))
        for words in (["node_modules/.bin/madang"], ["npx", "--offline", "madang"]):
            ended = self.run_words(*words, "no-such-command")
            self.assertEqual(ended.returncode, 2, ended.stderr)

    def start_server(self, *words: str) -> subprocess.Popen[str]:
        """Starts a server with a script in place of a model and waits until it listens."""
        (self.folder / "script").write_text("")
        words = (*words, "serve", "--script", "script", "--listen", "127.0.0.1:0")
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        # In a group of their own, so that a launcher that fails leaves no program behind.
        server = subprocess.Popen(words, cwd=self.folder, env=self.env, text=True, start_new_session=True, **pipes)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, PATIENCE)
        self.addCleanup(end_group, server.pid)
        # A server that fails ends, and so does its output.
        self.assertRegex(server.stdout.readline(), "^listening ")
        return server

    def test_a_signal_shuts_the_program_down(self) -> None:
        """The program ends in order, and the launcher with its code, not by the signal."""
        self.install(*made("npm"))
        for sent in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = self.start_server("node_modules/.bin/madang")
            server.send_signal(sent)
            # At the end of the output, no process is left that has it.
            server.communicate(timeout=PATIENCE)
            self.assertEqual(server.returncode, 0, sent)

    def test_a_program_that_is_killed_ends_the_launcher_alike(self) -> None:
        """A parent of the launcher learns of the signal."""
        self.install(*made("npm"))
        server = self.start_server("node_modules/.bin/madang")
        [program] = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        subprocess.run(["kill", "-KILL", program], check=True)
        self.assertEqual(server.wait(PATIENCE), -signal.SIGKILL)

    def test_a_missing_platform_is_said(self) -> None:
        """As after `npm install --omit=optional`."""
        launcher, _ = made("npm")
        self.install(launcher)
        ended = self.run_words("node_modules/.bin/madang", "--version")
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertRegex(ended.stderr, r"^madang: the package @madang/linux-\w+ is missing\. Install madang again")

    def test_npm_chooses_among_the_platforms(self) -> None:
        """Each platform's package of the launcher has the same version, and says where it runs."""
        self.install(*made("npm"))
        read = lambda name: json.loads((self.folder / "node_modules" / name / "package.json").read_text())  # noqa: E731
        launcher = read("madang")
        self.assertEqual(set(launcher["optionalDependencies"].values()), {launcher["version"]})
        [program] = [name for name in launcher["optionalDependencies"] if (self.folder / "node_modules" / name).exists()]
        said = read(program)
        self.assertEqual(program, f"@madang/{said['os'][0]}-{said['cpu'][0]}")
        self.assertEqual((said["version"], said["libc"]), (launcher["version"], ["glibc"]))

    def test_nobody_else_can_publish_what_the_launcher_asks_for(self) -> None:
        """A platform may be left out of a release. Then a name without our scope would belong to whoever takes it."""
        launcher, _ = made("npm")
        wanted = json.loads(files_of(launcher)["package/package.json"])["optionalDependencies"]
        self.assertEqual([name for name in wanted if not name.startswith("@madang/")], [])
        self.assertIn("@madang/win32-x64", wanted)


def end_group(group: int) -> None:
    """Kills what is left of a group of processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def files_of(package: pathlib.Path) -> dict[str, bytes]:
    """Returns the files of a package by their names."""
    with tarfile.open(package) as files:
        return {entry.name: files.extractfile(entry).read() for entry in files}
