"""`npx madang chat` starts the program of the platform, and the launcher is as if it were not there."""

import contextlib
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tarfile
import threading
import time

from support import PATIENCE, PackageTest, made

# In place of the program: tells each signal, and ends after SIGTERM.
TELLER = f"""#!{sys.executable}
import signal
signals = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
told = None
while told != signal.SIGTERM:
    told = signal.Signals(signal.sigwait(signals))
    print(told.name, flush=True)
"""


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

    def start_teller(self, stdin: int) -> subprocess.Popen[str]:
        """Starts the launcher with a program that tells its signals, in a session and a group of its own."""
        [program] = self.folder.glob("node_modules/@madang/*/bin/madang")
        program.write_text(TELLER)
        # If stdin is a terminal, it becomes that of the session, as a shell has it.
        words = ["setsid", *(["--ctty"] if os.isatty(stdin) else []), "node_modules/.bin/madang"]
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE}
        launcher = subprocess.Popen(words, cwd=self.folder, env=self.env, text=True, **pipes)
        self.addCleanup(launcher.stdout.close)
        self.addCleanup(launcher.wait, PATIENCE)
        self.addCleanup(end_group, launcher.pid)
        # A signal that does not arrive ends the wait for it.
        timer = threading.Timer(PATIENCE, end_group, [launcher.pid])
        timer.start()
        self.addCleanup(timer.cancel)
        self.assertEqual(launcher.stdout.readline(), "ready\n")
        return launcher

    def test_a_signal_arrives_once_however_it_is_sent(self) -> None:
        """To the launcher alone, to its whole group, or by the keys of its terminal."""
        self.install(*made("npm"))
        keys, terminal = pty.openpty()
        self.addCleanup(os.close, keys)
        self.addCleanup(os.close, terminal)
        to_one = lambda launcher: launcher.send_signal(signal.SIGINT)  # noqa: E731
        to_all = lambda launcher: os.killpg(launcher.pid, signal.SIGINT)  # noqa: E731
        by_key = lambda _: os.write(keys, b"\x03")  # noqa: E731
        ways = [(subprocess.DEVNULL, to_one), (subprocess.DEVNULL, to_all)]
        ways += [(terminal, to_one), (terminal, to_all), (terminal, by_key)]
        for number, (stdin, send) in enumerate(ways):
            with self.subTest(number):
                launcher = self.start_teller(stdin)
                # Each time is as the first, although what told one from all may have ended.
                for _ in range(3):
                    send(launcher)
                    self.assertEqual(launcher.stdout.readline(), "SIGINT\n")
                # Signals keep their order, so that one too many would be told before this one.
                launcher.send_signal(signal.SIGTERM)
                self.assertEqual(launcher.communicate(timeout=PATIENCE)[0], "SIGTERM\n")
                self.assertEqual(launcher.returncode, 0)

    def test_a_program_that_is_killed_ends_the_launcher_alike(self) -> None:
        """A parent of the launcher learns of the signal."""
        self.install(*made("npm"))
        server = self.start_server("node_modules/.bin/madang")
        children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        [program] = [child for child in children if pathlib.Path(f"/proc/{child}/comm").read_text() == "madang\n"]
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
        names = launcher["optionalDependencies"]
        [program] = [name for name in names if (self.folder / "node_modules" / name).exists()]
        said = read(program)
        self.assertEqual(program, f"@madang/{said['os'][0]}-{said['cpu'][0]}")
        self.assertEqual((said["version"], said["libc"]), (launcher["version"], ["glibc"]))

    def test_the_launcher_is_the_same_from_every_system(self) -> None:
        """So it has nothing of the program. The licences of the libraries inside lie beside the program."""
        launcher, program = made("npm")
        own = {"package.json", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "bin/madang.js"}
        self.assertEqual(files_of(launcher).keys(), {f"package/{name}" for name in own})
        self.assertIn("package/THIRD-PARTY.txt", files_of(program))

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
