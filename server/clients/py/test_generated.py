"""A client that is generated from the description compiles and sends a turn with its text alone."""

import compileall
import importlib
import json
import subprocess
import sys
import unittest
from pathlib import Path

from serving import ServerTest, says


class GeneratedTest(ServerTest):
    def test_a_generated_client_sends_a_turn_with_its_text_alone(self):
        server = self.serve([says("Hello to you")])
        status, description = server.ask("openapi.json")
        self.assertEqual(status, 200)
        source, config = server.path / "openapi.json", server.path / "config.yml"
        source.write_text(json.dumps(description))
        # Its own formatter is not needed to import what it writes.
        config.write_text("post_hooks: []\n")
        target = server.path / "generated"
        command = [
            *[Path(sys.executable).with_name("openapi-python-client"), "generate", "--path", source],
            *["--config", config, "--meta", "none", "--output-path", target],
            # A warning tells what it left out of the client.
            "--fail-on-warning",
        ]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=50)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertTrue(compileall.compile_dir(target, quiet=1))

        sys.path.insert(0, str(server.path))
        self.addCleanup(sys.path.remove, str(server.path))
        load = importlib.import_module
        client = load("generated").AuthenticatedClient(base_url=server.origin, token=server.token)
        models = load("generated.models")
        opened = load("generated.api.sessions.open_session").sync(client=client, body=models.OpenBody())
        begin = load("generated.api.sessions.begin_turn").sync
        turn = begin(opened.session, client=client, body=models.TurnBody(text="Hello"))
        self.assertEqual(turn.session, opened.session)
        named = load("generated.api.sessions.rename_session").sync
        titled = named(opened.session, client=client, body=models.TitleBody(title="Greeting"))
        self.assertEqual(titled.title, "Greeting")


if __name__ == "__main__":
    unittest.main()
