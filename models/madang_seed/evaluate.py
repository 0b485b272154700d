"""Greedy decoding on dialogues that the training never saw, and a reply to a line of one's own."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

import torch
from torch import Tensor

from . import vocabulary
from .chat import IM_END, IM_START, call_text
from .dialogue import Message
from .mixture import Mixture, dialogue
from .model import Cache, Network, Shape
from .placeholders import PLACEHOLDERS

# Seeds of the training are small numbers or counts of tokens; this one is neither.
HELD_OUT_SEED = 987_654_321_001


class Speaker:
    """The trained network with its vocabulary, answering greedily and without any grammar."""

    def __init__(self, folder: Path) -> None:
        self.encoder = vocabulary.Encoder(vocabulary.load(folder / "vocabulary.json"))
        state = torch.load(folder / "checkpoint.pt", weights_only=True)
        self.network = Network(Shape(**state["shape"]))
        self.network.load_state_dict(state["average"])
        self.tokens = state["tokens"]
        self._special = {number: token for token, number in self.encoder.special.items()}

    @torch.no_grad()
    def reply(self, messages: list[Message], limit: int = 400) -> str:
        """What the assistant says next, tool call markers included."""
        ids, _ = self.encoder.dialogue(messages)
        ids += [self.encoder.special[IM_START], *self.encoder.text("assistant\n")]
        caches = [Cache() for _ in self.network.blocks]
        length = len(ids)
        mask = torch.zeros(length, length).masked_fill_(torch.ones(length, length).triu(1).bool(), float("-inf"))
        state = self.network(torch.tensor([ids]), mask, torch.float32, 0, caches)
        said: list[int] = []
        while len(said) < limit:
            token = int(self.network.logits(state[:, -1]).argmax())
            if token == self.encoder.special[IM_END]:
                break
            said.append(token)
            at: Tensor = torch.zeros(1, length + len(said))
            state = self.network(torch.tensor([[token]]), at, torch.float32, length + len(said) - 1, caches)
        return self._text(said)

    def _text(self, ids: list[int]) -> str:
        text, plain = "", []
        for token in [*ids, None]:
            if token is not None and token not in self._special:
                plain.append(token)
                continue
            text += self.encoder.vocabulary.decode(plain)
            plain = []
            text += self._special[token] if token is not None else ""
        return text


def written(message: Message) -> str:
    """How an assistant's message is written."""
    if message.call is None:
        return message.text
    return f"<tool_call>\n{call_text(message.call.name, message.call.arguments)[0]}\n</tool_call>"


def _kind_of_answer(text: str) -> str:
    return text if text in PLACEHOLDERS else "own sentence"


def _tool(text: str) -> str:
    """The name of the tool that is called; blank where none is."""
    return text.partition('{"name":"')[2].partition('"')[0]


# What one of these does to the data of a person, who is asked before.
WRITING = frozenset(
    "add_habit log_tracker_entry end_habit correct_tracker_entry create_page create_page_with_blocks rename_page "
    "delete_page create_block update_block delete_block insert_block_below_current insert_block_below "
    "append_to_block".split()
)
MIXTURES = {
    "first": Mixture(short=1.0, novelty=0.25),
    "whole": Mixture(short=0.0, novelty=0.25, more_turns=0.3),
    "long": Mixture(short=0.0, novelty=0.25, long=1.0),
}


def held_out(speaker: Speaker, number: int, mixture: Mixture, show: int, about: str | None) -> None:
    """Compares replies with what the generator would have said and prints the shares that are exactly right.

    A placeholder is right where it is that placeholder and nothing else. Two lines count what was not asked for: a call
    where none was due, and a call that writes where another tool or none was due.
    """
    rng = random.Random(HELD_OUT_SEED)
    right: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for _ in range(number):
        messages = dialogue(rng, mixture, about)
        for place, message in enumerate(messages):
            if message.role != "assistant":
                continue
            reply = speaker.reply(messages[:place])
            expected = written(message)
            kind = message.call.name if message.call else _kind_of_answer(expected)
            for label in (kind, "all calls" if message.call else "all answers"):
                seen[label] += 1
                right[label] += reply == expected
            seen["right tool or none"] += 1
            right["right tool or none"] += _tool(reply) == _tool(expected)
            if message.call is None:
                seen["no call where none is due"] += 1
                right["no call where none is due"] += not _tool(reply)
            seen["no write that is not due"] += 1
            right["no write that is not due"] += _tool(reply) not in WRITING or _tool(reply) == _tool(expected)
            if reply != expected and show > 0:
                show -= 1
                print(f"user: {messages[place - 1].text[-200:]}\n  want {expected}\n  got  {reply}", flush=True)
    for label in sorted(seen):
        print(f"{label:28} {right[label]:5} of {seen[label]:5}  {100 * right[label] / seen[label]:5.1f} %")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Try the trained model.")
    parser.add_argument("--run", type=Path, required=True, help="folder of vocabulary and checkpoint")
    parser.add_argument("--number", type=int, default=300, help="how many held-out dialogues")
    parser.add_argument(
        "--chats",
        choices=MIXTURES,
        default="first",
        help="judge first calls, or every reply of whole conversations, or of long ones",
    )
    parser.add_argument("--about", choices=("life", "notes"), help="only this toolkit")
    parser.add_argument("--show", type=int, default=0, help="how many wrong replies to print")
    parser.add_argument("--say", nargs="*", help="lines of one's own, each a new conversation")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    speaker = Speaker(arguments.run)
    print(f"trained on {speaker.tokens / 1e6:.2f} M tokens")
    if arguments.say:
        told = [Message("tools", f"{arguments.about}\n" if arguments.about else "life\nnotes\n")]
        for line in arguments.say:
            print(f"{line}\n  {speaker.reply([*told, Message('user', line)])}")
        return
    held_out(speaker, arguments.number, MIXTURES[arguments.chats], arguments.show, arguments.about)


if __name__ == "__main__":
    main()
