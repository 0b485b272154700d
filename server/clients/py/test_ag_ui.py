"""The types of AG-UI in Python decode each event of the server."""

import unittest
import urllib.request
from uuid import uuid4

from ag_ui.core import Event, RunAgentInput, UserMessage
from pydantic import TypeAdapter

from serving import ADD, PATIENCE, SEARCH, USAGE, ServerTest, calls, says

EVENT = TypeAdapter(Event)


class AgUiTest(ServerTest):
    def run_agent(self, server, messages, **more):
        """Runs to the end, and gives the decoded events."""
        asked = RunAgentInput(
            thread_id="thread",
            run_id=str(uuid4()),
            messages=messages,
            state={"theme": "dark"},
            tools=[],
            context=[],
            forwarded_props={},
            **more,
        )
        data = asked.model_dump_json(by_alias=True, exclude_none=True).encode()
        headers = {
            "authorization": f"Bearer {server.token}",
            "content-type": "application/json",
            "accept": "text/event-stream",
        }
        request = urllib.request.Request(f"{server.origin}/ag-ui", data, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            frames = [line.removeprefix(b"data: ") for line in response if line.startswith(b"data: ")]
        return [self.decoded(frame) for frame in frames]

    def decoded(self, frame):
        event = EVENT.validate_json(frame)
        # Nothing is lost on the way: each member of a frame has its place in the protocol.
        again = EVENT.validate_json(event.model_dump_json(by_alias=True, exclude_none=True))
        self.assertEqual(again, event)
        self.assertEqual(event.model_extra or {}, {}, frame)
        return event

    def test_a_run_with_thinking_and_a_tool_is_decoded(self):
        script = [{"thinking": "음", **says("찾아볼게요.", 1_000), **calls(SEARCH)}, {"text": "하나 있습니다.", "usage": USAGE}]
        server = self.serve(script)
        events = self.run_agent(server, [UserMessage(id="m1", role="user", content="찾아줘")])
        kinds = [event.type.value for event in events]
        self.assertEqual((kinds[0], kinds[-1]), ("RUN_STARTED", "RUN_FINISHED"))
        for kind in ["REASONING_MESSAGE_CONTENT", "TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]:
            self.assertIn(kind, kinds)
        said = "".join(event.delta for event in events if event.type.value == "TEXT_MESSAGE_CONTENT")
        self.assertEqual(said, "찾아볼게요.하나 있습니다.")
        self.assertEqual(events[-1].usage[0].total_tokens, 7)

    def test_an_interrupt_and_its_resumption_are_decoded(self):
        server = self.serve([calls(ADD), says("추가했습니다.")])
        user = UserMessage(id="m1", role="user", content="추가해줘")
        events = self.run_agent(server, [user])
        outcome = events[-1].outcome
        self.assertEqual(outcome.type, "interrupt")
        [interrupt] = outcome.interrupts
        [snapshot] = [event for event in events if event.type.value == "MESSAGES_SNAPSHOT"]
        resume = [{"interruptId": interrupt.id, "status": "resolved", "payload": {"approved": True}}]
        events = self.run_agent(server, snapshot.messages, resume=resume)
        self.assertEqual(events[-1].outcome.type, "success")
        self.assertEqual([call["outcome"]["status"] for call in server.ledger()], ["ok"])

    def test_an_error_is_decoded(self):
        server = self.serve([{"text": "half", "error": "Timeout"}])
        events = self.run_agent(server, [UserMessage(id="m1", role="user", content="hi")])
        self.assertEqual((events[-1].type.value, events[-1].code), ("RUN_ERROR", "model/Timeout"))


if __name__ == "__main__":
    unittest.main()
