"""Reads the vocabulary and the weights back out of a GGUF, to check them or to train them further."""

from __future__ import annotations

from pathlib import Path

import gguf
import torch
from torch import Tensor

from .chat import SPECIAL_TOKENS
from .model import STACKED, Network, Shape
from .vocabulary import Vocabulary, unescaped


def vocabulary(reader: gguf.GGUFReader) -> Vocabulary:
    """The vocabulary as the training has it."""
    return Vocabulary(_tokens(reader))


def network(reader: gguf.GGUFReader) -> Network:
    """The network, as exact as its eight bits."""
    own = Network(_shape(reader))
    own.load_state_dict(_weights(reader, own.shape))
    return own


def graft(reader: gguf.GGUFReader, wanted: Vocabulary, shape: Shape) -> Network:
    """The network with another vocabulary, and perhaps wider and with more layers. It says at first what it said before.

    A token that it lacked begins as the mean of those that spelt it. Nothing that was there reads what is new in width,
    and layers that are new are put into the middle and begin without anything to say.
    """
    stored = network(reader)
    old = Vocabulary(_tokens(reader))
    rows = [_row(old, token) for token in wanted.tokens]
    embedding = torch.stack([stored.embedding.detach()[row].mean(0) for row in rows])
    weights = {**stored.state_dict(), "embedding": embedding}
    grafted = Network(shape)
    own = grafted.state_dict()
    middle, more = (stored.shape.layers + 1) // 2, shape.layers - stored.shape.layers
    for name, values in weights.items():
        place = name
        if name.startswith("blocks."):
            _, number, part = name.split(".", 2)
            place = f"blocks.{int(number) + (more if int(number) >= middle else 0)}.{part}"
        own[place].copy_(_widened(name, values, own[place]))
    with torch.no_grad():
        for block in grafted.blocks[middle : middle + more]:
            block.out.zero_()
            block.down.zero_()
    return grafted


def _widened(name: str, old: Tensor, fresh: Tensor) -> Tensor:
    """The old weights in the first rows and columns of fresh ones."""
    if old.ndim == 1:
        # What is new is about nothing at first, so that the mean square falls by the share of the old width.
        return torch.cat([old * (len(old) / len(fresh)) ** 0.5, fresh[len(old) :]])
    parts = STACKED.get(name.rpartition(".")[2], 1)
    return torch.cat([_corner(*pair) for pair in zip(old.chunk(parts), fresh.chunk(parts), strict=True)])


def _corner(old: Tensor, fresh: Tensor) -> Tensor:
    rows, columns = old.shape
    joined = fresh.clone()
    joined[:rows, :columns] = old
    joined[:rows, columns:] = 0
    return joined


def _row(old: Vocabulary, token: bytes) -> list[int]:
    if token in old.numbers:
        return [old.numbers[token]]
    return [number for number, _ in old.cut(token)]


def open_file(path: Path) -> gguf.GGUFReader:
    """Opens a GGUF."""
    return gguf.GGUFReader(str(path))


def _tokens(reader: gguf.GGUFReader) -> list[bytes]:
    tokens: list[str] = reader.get_field("tokenizer.ggml.tokens").contents()
    if reader.get_field("tokenizer.ggml.model").contents() == "rwkv":
        return [unescaped(token) for token in tokens]
    spelled = {character: byte for byte, character in _byte_alphabet().items()}
    return [
        token.encode() if token in SPECIAL_TOKENS else bytes(spelled[character] for character in token)
        for token in tokens
    ]


def _byte_alphabet() -> dict[int, str]:
    """The printable character that stands for each byte in a byte-level vocabulary."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def _shape(reader: gguf.GGUFReader) -> Shape:
    def field(name: str) -> float:
        return reader.get_field(f"llama.{name}").contents()

    return Shape(
        vocabulary=int(field("vocab_size")),
        width=int(field("embedding_length")),
        layers=int(field("block_count")),
        heads=int(field("attention.head_count")),
        groups=int(field("attention.head_count_kv")),
        hidden=int(field("feed_forward_length")),
        rope_base=field("rope.freq_base"),
        epsilon=field("attention.layer_norm_rms_epsilon"),
    )


def _weights(reader: gguf.GGUFReader, shape: Shape) -> dict[str, Tensor]:
    stored = {
        tensor.name.removesuffix(".weight"): torch.tensor(gguf.quants.dequantize(tensor.data, tensor.tensor_type))
        for tensor in reader.tensors
    }
    weights = {"embedding": stored["token_embd"], "norm": stored["output_norm"]}
    for number in range(shape.layers):
        own = {name.split(".", 2)[2]: value for name, value in stored.items() if name.startswith(f"blk.{number}.")}
        q, k = (_halved(own[name], shape.head) for name in ("attn_q", "attn_k"))
        weights |= {
            f"blocks.{number}.attention_norm": own["attn_norm"],
            f"blocks.{number}.qkv": torch.cat([q, k, own["attn_v"]]),
            f"blocks.{number}.out": own["attn_output"],
            f"blocks.{number}.ffn_norm": own["ffn_norm"],
            f"blocks.{number}.gate_up": torch.cat([own["ffn_gate"], own["ffn_up"]]),
            f"blocks.{number}.down": own["ffn_down"],
        }
    return weights


def _halved(rows: Tensor, head: int) -> Tensor:
    """Puts rotated pairs half a head apart again: the inverse of what the export does."""
    return rows.view(-1, head // 2, 2, rows.shape[-1]).transpose(1, 2).reshape(rows.shape)
