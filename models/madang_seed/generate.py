"""Prints generated dialogues as JSON lines, to look at what the model learns from."""

from __future__ import annotations

import argparse
import json
import random

from .dialogue import Message
from .mixture import Mixture, dialogue

# The tool by which the template knows each toolkit.
KNOWN_BY = {"life": "search_catalog", "notes": "query_pages"}


def conversation(messages: list[Message]) -> dict[str, object]:
    """A dialogue in the form that chat templates take: tools and messages."""
    told = [message for message in messages if message.role == "tools"]
    names = [KNOWN_BY[toolkit] for message in told for toolkit in message.text.split()]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"tools": tools, "messages": [plain(message) for message in messages if message not in told]}


def plain(message: Message) -> dict[str, object]:
    """A message in the form that chat templates take."""
    if message.call is None:
        return {"role": message.role, "content": message.text}
    function = {"name": message.call.name, "arguments": message.call.arguments}
    return {"role": message.role, "content": "", "tool_calls": [{"type": "function", "function": function}]}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Print generated dialogues.")
    parser.add_argument("--number", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", type=float, default=0.3, help="share that ends at the first call")
    parser.add_argument("--long", type=float, default=0.1, help="share of the others that are long chats")
    parser.add_argument("--novelty", type=float, default=0.25, help="share of invented words among those to copy")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    mixture = Mixture(short=arguments.short, novelty=arguments.novelty, long=arguments.long)
    for _ in range(arguments.number):
        print(json.dumps(conversation(dialogue(rng, mixture)), ensure_ascii=False))


if __name__ == "__main__":
    main()
