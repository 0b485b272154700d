"""Reads the vocabulary and the weights back out of a GGUF that `export` wrote, to train them further."""

from __future__ import annotations

from pathlib import Path

import gguf
import torch
from tokenizers import Tokenizer

from . import vocabulary
from .model import Network, Shape


def tokenizer(reader: gguf.GGUFReader) -> Tokenizer:
    """The vocabulary as the training has it."""
    tokens: list[str] = reader.get_field("tokenizer.ggml.tokens").contents()
    merges: list[str] = reader.get_field("tokenizer.ggml.merges").contents()
    left_and_right = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    return vocabulary.assemble({token: number for number, token in enumerate(tokens)}, left_and_right)


def network(reader: gguf.GGUFReader) -> Network:
    """The network, as exact as its eight bits."""
    own = Network(_shape(reader))
    own.load_state_dict(_weights(reader, own.shape))
    return own


def open_file(path: Path) -> gguf.GGUFReader:
    """Opens a GGUF."""
    return gguf.GGUFReader(str(path))


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


def _weights(reader: gguf.GGUFReader, shape: Shape) -> dict[str, torch.Tensor]:
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


def _halved(rows: torch.Tensor, head: int) -> torch.Tensor:
    """Puts rotated pairs half a head apart again: the inverse of what the export does."""
    return rows.view(-1, head // 2, 2, rows.shape[-1]).transpose(1, 2).reshape(rows.shape)
