"""The Debian package installs, serves as its unit says, and goes again, in a small Debian of its own."""

import re
import shutil
import subprocess
import time
import urllib.request

from support import CACHE, PATIENCE, PackageTest, made

# Runs words in the small Debian. Its processes and the mount of /proc end with them.
INSIDE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc={root}/proc", "chroot", "{root}"]


class Debian(PackageTest):
    """The package of this machine's architecture."""

    def setUp(self) -> None:
        """Unpacks the small Debian and lays the package into it."""
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.done("tar", "-xf", CACHE / "root.tar", "-C", self.root)
        [self.package] = made("deb")
        shutil.copy(self.package, self.root / "tmp/madang.deb")
        self.env |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}

    def inside(self, *words: str) -> list[str]:
        """Returns the command that runs these words in the small Debian."""
        return [word.format(root=self.root) for word in INSIDE] + list(words)

    def install(self) -> None:
        """Installs the package as `apt install ./madang.deb` does, without a network: all it depends on is there."""
        self.done(*self.inside("dpkg", "--install", "/tmp/madang.deb"))

    def owner_and_mode(self, path: str) -> str:
        """Returns who owns a file of the small Debian, and who may use it."""
        return self.done(*self.inside("stat", "--format", "%U:%G %a", path)).strip()

    def test_dpkg_installs_a_program_that_answers(self) -> None:
        """For a user without rights."""
        self.done(*self.inside("adduser", "--quiet", "--disabled-password", "--gecos", "", "kim"))
        began = time.monotonic()
        self.install()
        self.answers(*self.inside("runuser", "-u", "kim", "--", "env", "HOME=/home/kim", "/usr/bin/madang"))
        self.assert_quick("deb", began, [self.package])

    def test_removal_keeps_the_data_and_purging_removes_it(self) -> None:
        """As Debian users expect. The user stays."""
        self.install()
        folders = ["/var/lib/madang", "/var/lib/madang-keys"]
        for folder in folders:
            self.assertEqual(self.owner_and_mode(folder), "madang:madang 700")
            (self.root / folder.lstrip("/") / "kept").write_text("")
        self.assertEqual(self.owner_and_mode("/etc/default/madang"), "root:root 640")
        # Installing over itself is an upgrade.
        self.install()
        self.done(*self.inside("dpkg", "--remove", "madang"))
        self.assertFalse((self.root / "usr/bin/madang").exists())
        self.assertFalse((self.root / "usr/lib/madang").exists())
        self.assertTrue(all((self.root / folder.lstrip("/") / "kept").exists() for folder in folders))
        self.done(*self.inside("dpkg", "--purge", "madang"))
        gone = [*folders, "/etc/default/madang", "/usr/lib/systemd/system/madang.service", "/usr/share/doc/madang"]
        self.assertEqual([path for path in gone if (self.root / path.lstrip("/")).exists()], [])
        self.assertIn("madang:", self.done(*self.inside("getent", "passwd", "madang")))

    def test_the_unit_serves_on_the_socket_that_systemd_opens(self) -> None:
        """With the words of the unit, as its user, by the tool of systemd that opens a socket as the unit does."""
        self.install()
        units = ["/usr/lib/systemd/system/madang.service", "/usr/lib/systemd/system/madang.socket"]
        checked = self.run_words(*self.inside("systemd-analyze", "verify", "--man=no", *units))
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        unit = (self.root / units[0].lstrip("/")).read_text()
        words = re.search(r"(?m)^ExecStart=(.*)$", unit)[1].split()
        self.assertEqual(words.pop(), "$MADANG_OPTIONS")
        key = re.search(r"(?m)^Environment=(.*)$", unit)[1]
        port = free_port()
        listen = ["systemd-socket-activate", "--listen", f"127.0.0.1:{port}", f"--setenv={key}", *words]
        server = subprocess.Popen(
            self.inside("runuser", "-u", "madang", "--", *listen),
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, PATIENCE)
        self.addCleanup(server.kill)
        self.assertRegex(server.stdout.readline(), "^Listening on")
        # The first connection starts the program and waits for it.
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as answer:
            self.assertEqual(answer.status, 200)
        self.assertEqual(self.owner_and_mode("/var/lib/madang-keys/seal.keys"), "madang:madang 600")

    def test_lintian_finds_no_error(self) -> None:
        """Its warnings are known: no manual page, and a file that only root reads."""
        # As root too: the package is our own.
        self.done("lintian", "--allow-root", "--fail-on", "error", self.package)


def free_port() -> int:
    """Returns a port that nobody uses now."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
