"""The tokenizer: the longest known token at each place, and tokens in which a copied word is always cut alike.

A space and every punctuation mark next to a word are tokens of their own, and no token holds more than one Hangul
syllable. Syllables that the vocabulary lacks are two tokens. Each placeholder is one token. Two hexadecimal digits are
one token, so that an id of 36 characters is 20 tokens, cut at the same places wherever it stands. llama.cpp calls this
kind of tokenizer `rwkv`.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from .chat import CHOICE, SPECIAL_TOKENS, pieces
from .dialogue import Message
from .mixture import Mixture, dialogue
from .placeholders import PLACEHOLDERS

SIZE = 2560
_SYLLABLES = 960
_QUOTES = "“”‘’「」✅❌"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Vocabulary:
    """The tokens in their order; those in front are control tokens, which plain text never becomes."""

    def __init__(self, tokens: list[bytes]) -> None:
        self.tokens = tokens
        self.numbers = {token: number for number, token in enumerate(tokens)}
        assert len(self.numbers) == len(tokens), "a token stands twice"
        lengths: dict[bytes, set[int]] = {}
        for token in tokens[len(SPECIAL_TOKENS) :]:
            lengths.setdefault(token[:2], set()).add(len(token))
        self._lengths = {start: sorted(known, reverse=True) for start, known in lengths.items()}

    def __len__(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The tokens of plain text."""
        return [number for number, _ in self.cut(text.encode())]

    def cut(self, text: bytes) -> Iterator[tuple[int, int]]:
        """The tokens of plain text, each with the byte where it begins."""
        at = 0
        while at < len(text):
            for length in self._lengths.get(text[at : at + 2], (1,)):
                token = text[at : at + length]
                number = self.numbers.get(token)
                if number is not None and len(token) == length:
                    break
            else:
                number, length = self.numbers[text[at : at + 1]], 1
            yield number, at
            at += length

    def decode(self, numbers: list[int]) -> str:
        """The text of tokens; what is no UTF-8 is replaced."""
        return b"".join(self.tokens[number] for number in numbers).decode(errors="replace")

    def save(self, path: Path) -> None:
        """Writes the tokens as a GGUF has them."""
        path.write_text(json.dumps([escaped(token) for token in self.tokens], ensure_ascii=False), encoding="utf-8")


def load(path: Path) -> Vocabulary:
    """Reads the vocabulary."""
    return Vocabulary([unescaped(token) for token in json.loads(path.read_text(encoding="utf-8"))])


def escaped(token: bytes) -> str:
    """How a token stands in a GGUF: what is no printable text is written as `\\n` or `\\xNN`."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in token)
    return "".join(_escaped_character(character) for character in text)


def _escaped_character(character: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}.get(character)
    return named or (character if character.isprintable() else f"\\x{ord(character):02x}")


def unescaped(text: str) -> bytes:
    """The bytes of a token that stands in a GGUF."""
    found = re.findall(r"\\x[0-9a-f]{2}|\\.|[^\\]+", text, re.DOTALL)
    return b"".join(_unescaped_part(part) for part in found)


def _unescaped_part(part: str) -> bytes:
    if part.startswith("\\x"):
        return bytes([int(part[2:], 16)])
    if part.startswith("\\"):
        return {"n": b"\n", "t": b"\t", "r": b"\r"}.get(part[1], part[1].encode())
    return part.encode()


def build(seed: int = 7, dialogues: int = 24_000) -> Vocabulary:
    """Makes the vocabulary from freshly generated dialogues."""
    rng = random.Random(seed)
    mixture = Mixture(short=0.3, novelty=0.02, more_turns=0.2, long=0.1)
    text = "\n".join(
        piece.text for _ in range(dialogues) for piece in pieces(dialogue(rng, mixture)) if not piece.special
    )
    text = _ID.sub("", text)

    tokens = {token.encode(): None for token in SPECIAL_TOKENS}
    tokens |= {bytes([byte]): None for byte in range(256)}
    tokens |= {chr(code).encode()[:2]: None for code in range(0xAC00, 0xD7A4)}
    tokens |= {f"{byte:02x}".encode(): None for byte in range(256)}
    tokens |= {mark.encode(): None for mark in _QUOTES}
    tokens |= {placeholder.encode(): None for placeholder in PLACEHOLDERS}
    syllables = Counter(char for char in text if "가" <= char <= "힣")
    tokens |= {char.encode(): None for char, _ in syllables.most_common(_SYLLABLES)}
    for token in _latin(text, SIZE):
        if len(tokens) == SIZE:
            break
        tokens.setdefault(token.encode())
    return Vocabulary(list(tokens))


def _latin(text: str, number: int) -> list[str]:
    """Frequent parts of words of Latin letters and of runs of punctuation, the most useful first."""
    runs = Counter(re.findall(r"[A-Za-z]+|[!-/:-@\[-`{-~]+", text))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s"), "removed")
    alphabet = sorted({char for run in runs for char in run})
    trainer = trainers.BpeTrainer(vocab_size=number + len(alphabet), initial_alphabet=alphabet, show_progress=False)
    # Rare runs are dropped, so that nothing is learnt from invented words.
    lines = [" ".join([run] * min(count, 2000)) for run, count in sorted(runs.items()) if count > 20]
    tokenizer.train_from_iterator(lines, trainer)
    return ["".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


class Encoder:
    """Turns dialogues into tokens and loss weights."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.special = {token: vocabulary.numbers[token.encode()] for token in SPECIAL_TOKENS}

    def text(self, text: str) -> list[int]:
        """Plain text; what looks like a control token in it is none."""
        return self.vocabulary.encode(text)

    def dialogue(self, messages: list[Message]) -> tuple[list[int], list[float]]:
        """The tokens of a dialogue and the weight of each in the loss."""
        ids: list[int] = []
        weights: list[float] = []
        for piece in pieces(messages):
            if piece.special:
                ids.append(self.special[piece.text])
                weights.append(piece.weight)
                continue
            starts = frozenset(len(piece.text[:start].encode()) for start in piece.starts)
            for number, begin in self.vocabulary.cut(piece.text.encode()):
                ids.append(number)
                weights.append(CHOICE if begin in starts else piece.weight)
        return ids, weights
