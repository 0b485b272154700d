"""The tokenizer: byte-level BPE in which a copied word always has the same tokens.

A space, a digit and every punctuation mark next to a word are tokens of their own, and no token holds more than one
Hangul syllable. Syllables that the vocabulary lacks are two tokens.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from tokenizers import decoders as decoding

from .chat import CHOICE, SPECIAL_TOKENS, pieces
from .mixture import Mixture, dialogue

SIZE = 2048
_SYLLABLES = 900

# The pre-tokenizer that llama.cpp calls `qwen2`.
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QUOTES = "“”‘’「」"


def byte_alphabet() -> dict[int, str]:
    """The printable character that stands for each byte in a byte-level vocabulary."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


_ALPHABET = byte_alphabet()


def _spelled(text: str) -> list[str]:
    return [_ALPHABET[byte] for byte in text.encode()]


def build(seed: int = 7, dialogues: int = 30_000) -> Tokenizer:
    """Makes the vocabulary from freshly generated dialogues."""
    rng = random.Random(seed)
    mixture = Mixture(short=0.3, novelty=0.02, more_turns=0.2)
    text = "\n".join(
        piece.text for _ in range(dialogues) for piece in pieces(dialogue(rng, mixture)) if not piece.special
    )

    merges: list[tuple[str, str]] = []
    heads = sorted({tuple(_spelled(chr(code))[:2]) for code in range(0xAC00, 0xD7A4)})
    merges += heads
    merges += sorted({tuple(_spelled(mark)[:2]) for mark in _QUOTES})
    syllables = Counter(char for char in text if "가" <= char <= "힣")
    for char in [*_QUOTES, *sorted(char for char, _ in syllables.most_common(_SYLLABLES))]:
        first, second, third = _spelled(char)
        merges.append((first + second, third))

    room = SIZE - len(SPECIAL_TOKENS) - 256 - len(merges)
    merges += _latin_merges(text, room)
    tokens = [*_ALPHABET.values(), *(left + right for left, right in merges)]
    vocabulary = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *tokens])}
    assert len(vocabulary) == SIZE, len(vocabulary)
    return assemble(vocabulary, merges)


def _latin_merges(text: str, number: int) -> list[tuple[str, str]]:
    """Merges within words of Latin letters and within runs of punctuation."""
    runs = Counter(re.findall(r"[A-Za-z]+|[!-/:-@\[-`{-~]+", text))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s"), "removed")
    alphabet = sorted({char for run in runs for char in run})
    trainer = trainers.BpeTrainer(vocab_size=number + len(alphabet), initial_alphabet=alphabet, show_progress=False)
    # Rare runs are dropped, so that nothing is learnt from invented words.
    lines = [" ".join([run] * min(count, 2000)) for run, count in sorted(runs.items()) if count > 20]
    tokenizer.train_from_iterator(lines, trainer)
    import json

    learnt = json.loads(tokenizer.to_str())["model"]["merges"]
    return [tuple(pair) for pair in learnt][:number]


def assemble(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
    """The tokenizer of given tokens and merges."""
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoding.ByteLevel()
    return tokenizer


def load(path: Path) -> Tokenizer:
    """Reads the vocabulary."""
    return Tokenizer.from_file(str(path))


class Encoder:
    """Turns dialogues into tokens and loss weights."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.special = {token: tokenizer.token_to_id(token) for token in SPECIAL_TOKENS}

    def text(self, text: str) -> list[int]:
        """Plain text; what looks like a control token in it is none."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def dialogue(self, messages: list) -> tuple[list[int], list[float]]:
        """The tokens of a dialogue and the weight of each in the loss."""
        ids: list[int] = []
        weights: list[float] = []
        for piece in pieces(messages):
            if piece.special:
                ids.append(self.special[piece.text])
                weights.append(piece.weight)
                continue
            encoded = self.tokenizer.encode(piece.text, add_special_tokens=False)
            ids += encoded.ids
            if piece.starts:
                starts = frozenset(piece.starts)
                weights += [CHOICE if begin in starts else piece.weight for begin, _ in encoded.offsets]
            else:
                weights += [piece.weight] * len(encoded.ids)
        return ids, weights
