"""Schemathesis asks the server all that its description allows, and much that it does not."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from serving import ServerTest, says

# The server is right where these two are not.
EXCLUDED = [
    # A caller that guesses at tokens hears soon that it is too fast, and not whether the next one is wrong.
    "ignored_auth",
    # A schema cannot say all that a text must be: a cursor that was given, a time zone, more than blanks.
    "positive_data_acceptance",
]


class OpenApiTest(ServerTest):
    def check(self, *options):
        # Each example of a turn is answered.
        server = self.serve([says("hi")] * 2_000, scope="chat,decide,tools,admin")
        here = Path(__file__).parent
        command = [
            *[Path(sys.executable).with_name("st"), "run", f"{server.origin}/openapi.json"],
            *["--header", f"Authorization: Bearer {server.token}"],
            # Just below what one user may ask in a second.
            *["--rate-limit", "45/s"],
            *["--exclude-checks", ",".join(EXCLUDED)],
            # The same cases each time.
            *["--seed", "20", "--max-examples", "5", "--continue-on-failure", "--no-color"],
            *options,
        ]
        env = {**os.environ, "PYTHONPATH": str(here), "SCHEMATHESIS_HOOKS": "openapi_hooks"}
        # It keeps notes in the folder where it runs.
        ran = subprocess.run(command, cwd=server.path, env=env, capture_output=True, text=True, timeout=55)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("passed", ran.stdout)

    def test_each_answer_is_as_it_is_described(self):
        self.check("--exclude-path-regex", "/events$")

    def test_each_endless_stream_is_as_it_is_described(self):
        self.check("--include-path-regex", "/events$", "--request-timeout", "1")


if __name__ == "__main__":
    unittest.main()
