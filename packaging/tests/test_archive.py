"""`install.sh` installs the archive of this system if its checksum is right, and otherwise nothing."""

import functools
import http.server
import pathlib
import shutil
import threading
import time
from collections.abc import Callable

from support import ROOT, PackageTest, made

INSTALL = ROOT / "packaging/install.sh"


class Archive(PackageTest):
    """The archive, from a server on loopback."""

    def setUp(self) -> None:
        """Serves a copy of the archive and of its checksums."""
        super().setUp()
        self.release = self.folder / "release"
        self.release.mkdir()
        self.archive, self.sums = [self.release / file.name for file in made("archive")]
        for file in made("archive"):
            shutil.copy(file, self.release)
        self.address = self.serve(functools.partial(Silent, directory=self.release))
        self.program = self.home / ".local/bin/madang"

    def serve(self, handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> str:
        """Starts a server on loopback and returns its address."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    def refused(self, *words: str | pathlib.Path) -> str:
        """Runs the script, which must refuse in one line and leave nothing behind. Returns that line."""
        ended = self.run_words("sh", INSTALL, *words)
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertFalse(self.program.parent.exists() and list(self.program.parent.iterdir()))
        line = ended.stderr.splitlines()[-1]
        self.assertTrue(line.startswith("install.sh: "), ended.stderr)
        return line

    def test_it_installs_a_program_that_answers(self) -> None:
        """Without rights, into the user's own folder."""
        began = time.monotonic()
        said = self.done("sh", INSTALL, self.address)
        self.assertIn(f"{self.program.parent} is not in PATH", said)
        self.answers(self.program)
        self.assert_quick("archive", began, [self.archive])
        # The same again replaces the program.
        self.done("sh", INSTALL, self.address)

    def test_prefix_and_the_address_come_from_the_environment_too(self) -> None:
        """For scripts that cannot give an argument."""
        self.env |= {"MADANG_RELEASE": f"file://{self.release}", "PREFIX": str(self.folder / "prefix")}
        self.done("sh", INSTALL)
        self.assertTrue((self.folder / "prefix/bin/madang").exists())

    def test_a_wrong_checksum_installs_nothing(self) -> None:
        """A byte more is another archive."""
        with self.archive.open("ab") as file:
            file.write(b"\0")
        self.assertIn("so nothing was installed", self.refused(self.address))

    def test_a_system_without_an_archive_is_refused(self) -> None:
        """The sums of other systems are not ours."""
        self.sums.write_text(self.sums.read_text().replace("-linux-gnu", "-other-gnu"))
        self.assertIn("has no archive for", self.refused(self.address))

    def test_two_releases_in_one_folder_are_refused(self) -> None:
        """The script does not choose between them."""
        self.sums.write_text(self.sums.read_text() + self.sums.read_text().replace("madang-", "madang-9"))
        self.assertIn("several archives", self.refused(self.address))

    def test_an_address_that_others_can_change_is_refused(self) -> None:
        """The sums come from there, too."""
        like_ours = "localhost.invalid localhost:80.invalid 127.0.0.1.invalid 127.0.0.1:80@madang.invalid [::1].invalid"
        for host in ["madang.invalid", *like_ours.split()]:
            self.assertIn("is not https://", self.refused(f"http://{host}/release"), host)
        self.assertIn("give the address of a release", self.refused())

    def test_a_redirection_to_plain_http_is_refused(self) -> None:
        """A release may lie elsewhere, and somebody between here and there could exchange the checksums as well."""
        address = self.serve(functools.partial(Moved, to=self.address))
        self.assertIn("failed to download", self.refused(address))

    def test_what_ends_the_script_leaves_nothing_half_written(self) -> None:
        """A disk that is full, or a key, while the program comes into its place."""
        tools = self.folder / "tools"
        tools.mkdir()
        self.env["PATH"] = f"{tools}:{self.env['PATH']}"
        for words in ("exit 1", "kill -INT $PPID", "kill -TERM $PPID"):
            (tools / "chmod").write_text(f"#!/bin/sh\n{words}\n")
            (tools / "chmod").chmod(0o755)
            ended = self.run_words("sh", INSTALL, self.address)
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertEqual(list(self.program.parent.iterdir()), [], words)

    def test_a_missing_release_is_refused(self) -> None:
        """A server that has no sums."""
        self.sums.unlink()
        self.assertIn("failed to download", self.refused(self.address))

    def test_a_folder_that_cannot_be_written_is_refused(self) -> None:
        """A file in its place stops even root."""
        (self.home / ".local").write_text("")
        self.assertIn("set PREFIX to a folder", self.refused(self.address))


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class Moved(Silent):
    """Says for each file that another server has it."""

    def __init__(self, *arguments: object, to: str) -> None:
        self.to = to
        super().__init__(*arguments)

    def do_GET(self) -> None:  # noqa: N802 - as the library calls it
        """Redirects."""
        self.send_response(302)
        self.send_header("Location", self.to + self.path)
        self.end_headers()
