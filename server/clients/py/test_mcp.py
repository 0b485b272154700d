"""The Python SDK's client of MCP against `madang mcp serve` over its pipes: it lists, calls and is asked, in both
revisions that ask."""

import asyncio
import contextlib
import functools
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY, ElicitResult

from serving import ADD, BINARY, PATIENCE, SEARCH

# The revision by the client's mode.
REVISIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}

YES = ElicitResult(action="accept", content={"ok": True})
# The answers that are no yes, with the end of their call in the ledger, and what the client reads.
NOT_YES = [
    (ElicitResult(action="accept", content={"ok": False, "reason": "later"}), ("denied", "later"), "user did not confirm"),
    (ElicitResult(action="decline"), ("denied", None), "user did not confirm"),
    (ElicitResult(action="accept", content={}), ("dismissed", None), "the user left before answering"),
    (ElicitResult(action="accept", content={"ok": "true"}), ("dismissed", None), "the user left before answering"),
    (ElicitResult(action="cancel"), ("dismissed", None), "the user left before answering"),
]


class Place(contextlib.AbstractContextManager):
    """A database, whose tools one person's clients call."""

    def __init__(self, mode):
        self.mode = mode
        self.folder = tempfile.TemporaryDirectory(prefix="madang-clients-")
        self.database = str(Path(self.folder.name) / "madang.db")
        self.env = {"XDG_CONFIG_HOME": self.folder.name}
        self.asked = []

    def __exit__(self, *_):
        self.folder.cleanup()

    def client(self, answer=None):
        """Makes a client that answers each question so, or that cannot be asked."""

        async def callback(_, request):
            self.asked.append(request)
            return answer if isinstance(answer, ElicitResult) else await answer()

        words = ["mcp", "serve", "--db", self.database, "--user", "kim", "--locale", "en"]
        server = StdioServerParameters(command=BINARY, args=words, env=self.env)
        callback = callback if answer else None
        return Client(server, mode=self.mode, elicitation_callback=callback, read_timeout_seconds=PATIENCE)

    def ledger(self, *options):
        words = [BINARY, "ledger", "--db", self.database, *options]
        return subprocess.run(words, env={**os.environ, **self.env}, check=True, capture_output=True, text=True).stdout

    def ended(self, tool):
        """Gives the outcome and the effect of each call of a tool. The chain of steps of all calls is checked."""
        self.ledger("--verify")
        calls = [json.loads(line) for line in self.ledger().splitlines()]
        found = [call for call in calls if call["name"] == tool]
        assert all(call["state"] == "ended" and call["user"] == "kim" for call in found), found
        return [(call["outcome"], call["effect"]) for call in found]

    async def habits(self):
        """Asks a client of its own for the habits that there are."""
        async with self.client() as client:
            return (await client.call_tool("list_active_habits", {})).structured_content["items"]


def in_both_revisions(test):
    """Runs a test once with each mode, in a new place."""

    @functools.wraps(test)
    def run(self):
        for mode in REVISIONS:
            with self.subTest(mode=mode), Place(mode) as place:
                asyncio.run(test(self, place))

    return run


class McpTest(unittest.TestCase):
    maxDiff = None

    @in_both_revisions
    async def test_tools_are_listed_in_order_with_schemas_and_hints(self, place):
        async with place.client() as client:
            self.assertEqual(client.protocol_version, REVISIONS[place.mode])
            self.assertEqual(client.server_info.name, "madang")
            tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        self.assertEqual(names, sorted(names))
        self.assertTrue(all(tool.description and tool.input_schema["type"] == "object" for tool in tools))
        hints = {tool.name: tool.annotations for tool in tools}
        search, end = hints["search_catalog"], hints["end_habit"]
        self.assertEqual((search.read_only_hint, search.idempotent_hint), (True, True))
        self.assertEqual((end.read_only_hint, end.destructive_hint, end.idempotent_hint), (False, True, False))
        schema = tools[names.index("search_catalog")].input_schema
        self.assertEqual(schema["properties"]["limit"]["maximum"], 10)

    @in_both_revisions
    async def test_a_read_runs_unasked_with_a_structure_and_the_same_as_text(self, place):
        async with place.client(YES) as client:
            result = await client.call_tool(SEARCH["name"], SEARCH["arguments"])
        self.assertFalse(result.is_error)
        self.assertEqual([item["category"] for item in result.structured_content["items"]], ["sleep"])
        self.assertEqual([json.loads(block.text) for block in result.content], [result.structured_content])
        self.assertEqual(place.asked, [])
        [(outcome, effect)] = place.ended(SEARCH["name"])
        self.assertEqual((outcome["status"], outcome["data"], effect), ("ok", result.structured_content, "none"))

    @in_both_revisions
    async def test_an_unknown_tool_and_wrong_arguments_are_told_apart(self, place):
        async with place.client(YES) as client:
            with self.assertRaises(MCPError) as unknown:
                await client.call_tool("no_such_tool", {})
            wrong = await client.call_tool(SEARCH["name"], {"limit": 99})
        self.assertEqual(unknown.exception.code, INVALID_PARAMS)
        self.assertTrue(wrong.is_error)
        self.assertEqual(json.loads(wrong.content[0].text)["code"], "validation")
        self.assertEqual([outcome["code"] for outcome, _ in place.ended(SEARCH["name"])], ["validation"])

    @in_both_revisions
    async def test_a_yes_runs_once(self, place):
        async with place.client(YES) as client:
            result = await client.call_tool(ADD["name"], ADD["arguments"])
        self.assertFalse(result.is_error, result.content)
        [request] = place.asked
        self.assertIn("Adds a new habit: 'Morning sunlight'", request.message)
        self.assertEqual(request.requested_schema["required"], ["ok"])
        self.assertEqual(request.requested_schema["properties"]["ok"], {"type": "boolean"})
        [(outcome, effect)] = place.ended(ADD["name"])
        self.assertEqual((outcome["status"], effect), ("ok", "committed"))
        self.assertEqual(await place.habits(), [result.structured_content])

    @in_both_revisions
    async def test_an_answer_that_is_no_yes_runs_nothing(self, place):
        ends = []
        for answer, (reason, message), told in NOT_YES:
            with self.subTest(answer=answer):
                async with place.client(answer) as client:
                    result = await client.call_tool(ADD["name"], ADD["arguments"])
                self.assertTrue(result.is_error)
                read = json.loads(result.content[0].text)
                self.assertEqual((read["status"], read["reason"], read.get("message")), ("cancelled", told, message))
                ends.append((reason, message, "none"))
        self.assertEqual(len(place.asked), len(NOT_YES))
        ended = [(outcome["reason"], outcome.get("message"), effect) for outcome, effect in place.ended(ADD["name"])]
        self.assertEqual(ended, ends)
        self.assertEqual(await place.habits(), [])

    @in_both_revisions
    async def test_without_a_callback_nobody_is_asked_and_nothing_runs(self, place):
        async with place.client() as client:
            if place.mode == "auto":
                with self.assertRaises(MCPError) as refused:
                    await client.call_tool(ADD["name"], ADD["arguments"])
                self.assertEqual(refused.exception.code, MISSING_REQUIRED_CLIENT_CAPABILITY)
                self.assertEqual(refused.exception.data, {"requiredCapabilities": {"elicitation": {"form": {}}}})
            else:
                result = await client.call_tool(ADD["name"], ADD["arguments"])
                self.assertTrue(result.is_error)
                self.assertIn("nobody could be asked", result.content[0].text)
        [(outcome, effect)] = place.ended(ADD["name"])
        self.assertEqual((outcome["reason"], effect), ("unreachable", "none"))
        self.assertEqual(await place.habits(), [])

    @in_both_revisions
    async def test_a_client_that_leaves_while_it_is_asked_runs_nothing(self, place):
        is_asked = asyncio.Event()

        async def never():
            is_asked.set()
            await asyncio.Event().wait()

        async with place.client(never) as client:
            call = asyncio.create_task(client.call_tool(ADD["name"], ADD["arguments"]))
            await asyncio.wait_for(is_asked.wait(), PATIENCE)
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
        [(outcome, effect)] = place.ended(ADD["name"])
        self.assertEqual((outcome["reason"], effect), ("dismissed", "none"))
        self.assertEqual(await place.habits(), [])


if __name__ == "__main__":
    unittest.main()
