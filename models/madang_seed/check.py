"""Checks a GGUF against the training: the template writes the same text, its vocabulary gives the same tokens."""

from __future__ import annotations

import argparse
import json
import random
from itertools import pairwise
from pathlib import Path

import gguf
import jinja2
import regex

from . import vocabulary
from .chat import pieces
from .generate import plain
from .mixture import Mixture, dialogue


class FileVocabulary:
    """Byte-level BPE as llama.cpp does it, from nothing but what stands in the file."""

    def __init__(self, reader: gguf.GGUFReader) -> None:
        field = reader.get_field
        self.tokens: dict[str, int] = {t: n for n, t in enumerate(field("tokenizer.ggml.tokens").contents())}
        merges: list[str] = field("tokenizer.ggml.merges").contents()
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        self.alphabet = vocabulary.byte_alphabet()
        assert field("tokenizer.ggml.pre").contents() == "qwen2"
        self.split = regex.compile(vocabulary.QWEN2)

    def encode(self, text: str) -> list[int]:
        """The tokens of plain text."""
        return [number for word in self.split.findall(text) for number in self._word(word)]

    def _word(self, word: str) -> list[int]:
        parts = [self.alphabet[byte] for byte in word.encode()]
        while len(parts) > 1:
            known = [(self.ranks[pair], at) for at, pair in enumerate(pairwise(parts)) if pair in self.ranks]
            if not known:
                break
            _, at = min(known)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [self.tokens[part] for part in parts]


def check(model: Path, run: Path | None, number: int) -> None:
    """Raises where something differs."""
    reader = gguf.GGUFReader(str(model))
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(reader.get_field("tokenizer.chat_template").contents())
    file = FileVocabulary(reader)
    trained = vocabulary.Encoder(vocabulary.load(run / "vocabulary.json")) if run else None
    rng = random.Random(42)
    for _ in range(number):
        messages = dialogue(rng, Mixture(novelty=0.4))
        written = pieces(messages)
        rendered = template.render(messages=[plain(message) for message in messages], add_generation_prompt=False)
        assert rendered == "".join(piece.text for piece in written), rendered
        for piece in written:
            if piece.special:
                assert piece.text in file.tokens, piece.text
            elif trained:
                assert file.encode(piece.text) == trained.text(piece.text), piece.text
    print(f"{model}: template{' and vocabulary' if run else ''} agree with the training on {number} dialogues")


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
