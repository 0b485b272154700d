"""Checks a GGUF against the training: the same text and tokens, and scores as near as eight bits allow.

Every conversation on the way is held against the rules for what is generated.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import gguf
import jinja2
import torch

from . import restore, rules, vocabulary
from .chat import pieces
from .generate import conversation
from .mixture import Mixture, dialogue
from .model import Network, Shape, document_mask
from .placeholders import PLACEHOLDERS
from .vocabulary import unescaped

# How far scores may be moved by rounding the weights to eight bits, and how many best tokens it may change.
TOLERANCE = 0.05
CHANGED = 0.02


class FileVocabulary:
    """The longest token at each place, as llama.cpp finds it, from nothing but what stands in the file."""

    def __init__(self, reader: gguf.GGUFReader) -> None:
        assert reader.get_field("tokenizer.ggml.model").contents() == "rwkv"
        stored: list[str] = reader.get_field("tokenizer.ggml.tokens").contents()
        self.tokens = {unescaped(token): number for number, token in enumerate(stored)}
        self.longest = max(map(len, self.tokens))

    def encode(self, text: str) -> list[int]:
        """The tokens of plain text."""
        rest, found = text.encode(), []
        while rest:
            length = next(size for size in range(self.longest, 0, -1) if rest[:size] in self.tokens)
            found.append(self.tokens[rest[:length]])
            rest = rest[length:]
        return found


def check(model: Path, run: Path | None, number: int) -> None:
    """Raises where something differs."""
    reader = gguf.GGUFReader(str(model))
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(reader.get_field("tokenizer.chat_template").contents())
    file = FileVocabulary(reader)
    trained = vocabulary.Encoder(vocabulary.load(run / "vocabulary.json")) if run else None
    read_back = vocabulary.Encoder(restore.vocabulary(reader))
    for placeholder in PLACEHOLDERS if trained else ():
        assert len(file.encode(placeholder)) == 1, f"{placeholder} is not one token"
    rng = random.Random(42)
    for _ in range(number):
        messages = dialogue(rng, Mixture(novelty=0.4, long=0.1))
        assert not rules.broken(messages), rules.broken(messages)
        written = pieces(messages)
        rendered = template.render(**conversation(messages), add_generation_prompt=False)
        assert rendered == "".join(piece.text for piece in written), rendered
        for piece in written:
            if piece.special:
                assert piece.text.encode() in file.tokens, piece.text
            else:
                tokens = file.encode(piece.text)
                assert tokens == read_back.text(piece.text), piece.text
                assert trained is None or tokens == trained.text(piece.text), piece.text
    print(f"{model}: template and vocabulary agree with the training on {number} dialogues")
    if run:
        compare_scores(restore.network(reader), run, trained or read_back)


@torch.no_grad()
def compare_scores(stored: Network, run: Path, encoder: vocabulary.Encoder, number: int = 20) -> None:
    """Raises where the weights of the file, read back, score dialogues differently than those of the run."""
    state = torch.load(run / "checkpoint.pt", weights_only=True)
    trained = Network(Shape(**state["shape"]))
    trained.load_state_dict(state["average"])
    rng = random.Random(43)
    moved = changed = scale = 0.0
    for _ in range(number):
        ids = torch.tensor([encoder.dialogue(dialogue(rng, Mixture(short=1.0)))[0]])
        mask = document_mask(torch.ones_like(ids), torch.float32)
        wanted, found = (one.logits(one(ids, mask, torch.float32)) for one in (trained, stored))
        moved += float((wanted - found).square().mean())
        scale += float(wanted.square().mean())
        changed += float((wanted.argmax(-1) != found.argmax(-1)).float().mean())
    share = (moved / scale) ** 0.5
    assert share < TOLERANCE, f"scores differ by {share:.3f} of their size"
    assert changed / number < CHANGED, f"{changed / number:.1%} of the best tokens differ"
    print(f"scores of the file differ by {share:.2%} of their size, {changed / number:.2%} of the best tokens do")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check the GGUF against the training.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--run", type=Path, help="folder of the training run, to compare the vocabulary too")
    parser.add_argument("--number", type=int, default=200)
    arguments = parser.parse_args()
    check(arguments.model, arguments.run, arguments.number)


if __name__ == "__main__":
    main()
