"""The Python SDK's client of MCP against `/mcp` of `madang serve`: it lists, calls and is asked, in both revisions that
ask, and across a kill of the server."""

import asyncio
import contextlib
import functools
import json
import unittest

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY, ElicitResult

from serving import ADD, PATIENCE, SEARCH, ServerTest, until

# The revision by the client's mode.
REVISIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}

YES = ElicitResult(action="accept", content={"ok": True})
# The answers that are no yes, with the end of their call in the ledger.
NOT_YES = [
    (ElicitResult(action="accept", content={"ok": False, "reason": "later"}), "denied"),
    (ElicitResult(action="decline"), "denied"),
    (ElicitResult(action="accept", content={}), "dismissed"),
    (ElicitResult(action="cancel"), "dismissed"),
]


def in_both_revisions(test):
    """Runs a test once with each mode, against a server of its own."""

    @functools.wraps(test)
    def run(self):
        for mode in REVISIONS:
            with self.subTest(mode=mode):
                self.mode, self.asked = mode, []
                self.server = self.serve([], scope="chat,decide,tools")
                asyncio.run(test(self))

    return run


class McpHttpTest(ServerTest):
    @contextlib.asynccontextmanager
    async def client(self, answer=None, **headers):
        """Connects a client that answers each question so, or that cannot be asked."""

        async def callback(_, request):
            self.asked.append(request)
            return answer if isinstance(answer, ElicitResult) else await answer()

        headers = {"Authorization": f"Bearer {self.server.token}", **headers}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(f"{self.server.origin}/mcp", http_client=http)
            callback = callback if answer else None
            async with Client(transport, mode=self.mode, elicitation_callback=callback, read_timeout_seconds=PATIENCE) as client:
                yield client

    def ended(self, tool):
        """Gives why each call of a tool has ended, and its effect."""
        found = [call for call in self.server.ledger() if call["name"] == tool and call["outcome"]]
        return [(call["outcome"].get("reason", call["outcome"]["status"]), call["effect"]) for call in found]

    async def decide(self, decision):
        await asyncio.to_thread(self.server.decide, decision)

    @in_both_revisions
    async def test_it_lists_and_reads(self):
        async with self.client() as client:
            self.assertEqual(client.protocol_version, REVISIONS[self.mode])
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool(SEARCH["name"], SEARCH["arguments"])
        self.assertEqual(names, sorted(names))
        self.assertFalse(result.is_error)
        self.assertEqual([item["category"] for item in result.structured_content["items"]], ["sleep"])
        self.assertEqual(self.ended(SEARCH["name"]), [("ok", "none")])

    @in_both_revisions
    async def test_a_yes_runs_once_and_what_is_no_yes_runs_nothing(self):
        for answer, _ in NOT_YES:
            async with self.client(answer) as client:
                result = await client.call_tool(ADD["name"], ADD["arguments"])
            self.assertTrue(result.is_error, answer)
        self.assertEqual(self.ended(ADD["name"]), [(reason, "none") for _, reason in NOT_YES])
        async with self.client(YES) as client:
            result = await client.call_tool(ADD["name"], ADD["arguments"])
        self.assertFalse(result.is_error, result.content)
        # The client names no language, and the words of the call are Korean.
        self.assertIn("새 습관을 추가합니다: '아침 햇빛 보기'", self.asked[-1].message)
        self.assertEqual(self.ended(ADD["name"])[-1], ("ok", "committed"))
        self.assertEqual(len(self.asked), len(NOT_YES) + 1)

    @in_both_revisions
    async def test_without_a_callback_nobody_is_asked_and_elsewhere_another_device_is(self):
        async with self.client() as client:
            if self.mode == "auto":
                with self.assertRaises(MCPError) as refused:
                    await client.call_tool(ADD["name"], ADD["arguments"])
                self.assertEqual(refused.exception.code, MISSING_REQUIRED_CLIENT_CAPABILITY)
            else:
                result = await client.call_tool(ADD["name"], ADD["arguments"])
                self.assertIn("nobody could be asked", json.loads(result.content[0].text)["reason"])
        self.assertEqual(self.ended(ADD["name"]), [("unreachable", "none")])
        heard = []

        async def hears(progress, total, message):
            heard.append(message)

        async with self.client(**{"Madang-Ask": "elsewhere"}) as client:
            call = client.call_tool(ADD["name"], ADD["arguments"], progress_callback=hears)
            result, _ = await asyncio.gather(call, self.decide("approve"))
        self.assertFalse(result.is_error, result.content)
        self.assertTrue(heard and "another device" in heard[0], heard)

    @in_both_revisions
    async def test_a_client_that_leaves_while_it_is_asked_runs_nothing(self):
        is_asked = asyncio.Event()

        async def never():
            is_asked.set()
            await asyncio.Event().wait()

        async with self.client(never) as client:
            call = asyncio.create_task(client.call_tool(ADD["name"], ADD["arguments"]))
            await asyncio.wait_for(is_asked.wait(), PATIENCE)
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
        if self.mode == "legacy":
            until("the call has ended", lambda: self.ended(ADD["name"]) == [("dismissed", "none")])
            self.assertEqual(self.server.ask("v1/inbox")[1]["approval_requests"], [])
        else:
            # Between two requests a client of this revision has nothing open: its question waits for its time.
            self.assertEqual(self.ended(ADD["name"]), [])
            await self.decide("deny")
            until("the call has ended", lambda: self.ended(ADD["name"]) == [("denied", "none")])

    def test_an_answer_behind_a_kill_is_told_that_nothing_was_done(self):
        self.mode, self.asked = "auto", []
        self.server = self.serve([], scope="chat,decide,tools")

        async def killed():
            await asyncio.to_thread(self.server.kill)
            await asyncio.to_thread(self.server.restart, [])
            return YES

        async def add():
            async with self.client(killed) as client:
                return await client.call_tool(ADD["name"], ADD["arguments"])

        result = asyncio.run(add())
        self.assertTrue(result.is_error)
        self.assertEqual(len(self.asked), 1)
        [(_, effect)] = self.ended(ADD["name"])
        self.assertEqual(effect, "none")


if __name__ == "__main__":
    unittest.main()
