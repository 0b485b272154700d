"""Schemathesis asks the server all that its description allows, and much that it does not."""

import itertools
import os
import subprocess
import sys
import unittest
from pathlib import Path

from serving import ServerTest, says

HERE = Path(__file__).parent

# The paths of streams without an end.
STREAMS = "/events$"

# Parts of the other paths. Each is asked in less than a minute.
PARTS = ["^/v1/sessions", "^/(ag-ui|mcp)$", "^/api/", "^/v1/(chat|models)"]

# The check that sends wrong tokens. It has a test of its own, because who sends too many is told to wait, and no longer
# that a token is wrong. So many may an address send in a minute.
GUESSES, WRONG_TOKENS = "ignored_auth", 10

# The operation that makes chats.
OPENS = "openSession"

# Requests that do not follow from other answers.
ALONE = ["--exclude-checks", GUESSES, "--phases", "examples,coverage,fuzzing"]

# Some requests of each operation, until one is answered and then asked with a wrong token.
ONCE = ["--checks", GUESSES, "--mode", "positive", "--phases", "fuzzing,stateful", "--max-examples", "3"]


class OpenApiTest(ServerTest):
    def start(self):
        # Each example of a turn is answered.
        return self.serve([says("hi")] * 2_000, scope="chat,decide,tools,admin")

    def check(self, server, *options):
        command = [
            *[Path(sys.executable).with_name("st"), "--config-file", HERE / "schemathesis.toml"],
            *["run", f"{server.origin}/openapi.json"],
            *["--header", f"Authorization: Bearer {server.token}"],
            # Just below what one user may ask in a second.
            *["--rate-limit", "45/s"],
            # The same cases each time.
            *["--seed", "20", "--max-examples", "5", "--continue-on-failure", "--no-color"],
            *options,
        ]
        env = {**os.environ, "PYTHONPATH": str(HERE), "SCHEMATHESIS_HOOKS": "openapi_hooks"}
        # It keeps notes in the folder where it runs.
        ran = subprocess.run(command, cwd=server.path, env=env, capture_output=True, text=True, timeout=55)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("passed", ran.stdout)

    def test_each_answer_is_as_it_is_described(self):
        for part in PARTS:
            with self.subTest(part):
                self.check(self.start(), "--include-path-regex", part, "--exclude-path-regex", STREAMS, *ALONE)
        with self.subTest("the rest"):
            self.check(self.start(), "--exclude-path-regex", "|".join([*PARTS, STREAMS]), *ALONE)

    def test_each_answer_after_another_is_as_it_is_described(self):
        self.check(self.start(), "--exclude-path-regex", STREAMS, "--exclude-checks", GUESSES, "--phases", "stateful")

    def test_each_endless_stream_is_as_it_is_described(self):
        self.check(self.start(), "--include-path-regex", STREAMS, "--request-timeout", "1")

    def test_each_operation_refuses_a_wrong_token(self):
        paths = self.start().ask("openapi.json")[1]["paths"].items()
        operations = [one for path, all in paths if not path.endswith("/events") for one in all.values()]
        guarded = [one["operationId"] for one in operations if one["security"] and one["operationId"] != OPENS]
        # Each server has a chat, and hears one wrong token for each operation.
        for at in range(0, len(guarded), WRONG_TOKENS - 1):
            some = [OPENS, *guarded[at : at + WRONG_TOKENS - 1]]
            chosen = itertools.chain.from_iterable(("--include-operation-id", one) for one in some)
            self.check(self.start(), *ONCE, *chosen)


if __name__ == "__main__":
    unittest.main()
