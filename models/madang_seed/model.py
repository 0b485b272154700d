"""The network: llama's architecture, small, with 32-bit weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# A processor without instructions for bfloat16 needs seven times as long for it as for 32 bits.
_HAS_BFLOAT16 = any(torch.cpu.get_capabilities().get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
COMPUTED_IN = torch.bfloat16 if _HAS_BFLOAT16 else torch.float32


# How many matrices on top of each other a parameter is.
STACKED = {"qkv": 3, "gate_up": 2}


@dataclass(frozen=True)
class Shape:
    """The sizes of the network."""

    vocabulary: int = 2560
    width: int = 256
    layers: int = 7
    heads: int = 4
    groups: int = 4
    hidden: int = 768
    rope_base: float = 10_000.0
    epsilon: float = 1e-5

    @property
    def head(self) -> int:
        """The width of one head."""
        return self.width // self.heads


class Block(nn.Module):
    """One layer: grouped-query attention, then SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        s = shape
        self.shape = s
        self.attention_norm = nn.Parameter(torch.ones(s.width))
        self.qkv = nn.Parameter(_normal((s.heads + 2 * s.groups) * s.head, s.width))
        self.out = nn.Parameter(_normal(s.width, s.width) / (2 * s.layers) ** 0.5)
        self.ffn_norm = nn.Parameter(torch.ones(s.width))
        self.gate_up = nn.Parameter(_normal(2 * s.hidden, s.width))
        self.down = nn.Parameter(_normal(s.width, s.hidden) / (2 * s.layers) ** 0.5)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], mask: Tensor, cache: Cache | None = None) -> Tensor:
        """Adds what this layer has to say."""
        s = self.shape
        rows, length, _ = x.shape
        mixed = F.linear(_norm(x, self.attention_norm, s.epsilon), self.qkv.to(x.dtype))
        mixed = mixed.view(rows, length, s.heads + 2 * s.groups, s.head).transpose(1, 2)
        rotated = _rotate(mixed[:, : s.heads + s.groups], *rope)
        q, k, v = rotated[:, : s.heads], rotated[:, s.heads :], mixed[:, s.heads + s.groups :]
        if cache is not None:
            k, v = cache.extend(k, v)
        repeat = s.heads // s.groups
        if repeat > 1:
            k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        seen = _seen(q, k, v, mask)
        x = x + F.linear(seen.transpose(1, 2).reshape(rows, length, s.width), self.out.to(x.dtype))
        gate, up = F.linear(_norm(x, self.ffn_norm, s.epsilon), self.gate_up.to(x.dtype)).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down.to(x.dtype))


class Cache:
    """Keys and values of one layer, for decoding token by token."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Appends and returns all."""
        self.k = k if self.k is None else torch.cat([self.k, k], 2)
        self.v = v if self.v is None else torch.cat([self.v, v], 2)
        return self.k, self.v


class Network(nn.Module):
    """The whole network; the embedding is the output too."""

    def __init__(self, shape: Shape = Shape()) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Parameter(_normal(shape.vocabulary, shape.width))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        angles = shape.rope_base ** (-torch.arange(0, shape.head, 2) / shape.head)
        self.register_buffer("angles", angles, persistent=False)

    def rope(self, start: int, length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the positions."""
        turned = torch.arange(start, start + length)[:, None] * self.angles
        return turned.cos().to(dtype), turned.sin().to(dtype)

    def forward(
        self, ids: Tensor, mask: Tensor, dtype: torch.dtype, start: int = 0, caches: list[Cache] | None = None
    ) -> Tensor:
        """The normalised last layer; `logits` turns it into scores."""
        x = F.embedding(ids, self.embedding.to(dtype))
        rope = self.rope(start, ids.shape[1], dtype)
        for number, block in enumerate(self.blocks):
            x = block(x, rope, mask, caches[number] if caches else None)
        return _norm(x, self.norm, self.shape.epsilon)

    def logits(self, x: Tensor) -> Tensor:
        """Scores of the next token."""
        return F.linear(x, self.embedding.to(x.dtype)).float()


def document_mask(documents: Tensor, dtype: torch.dtype) -> Tensor:
    """Lets a token see itself and earlier tokens of its own dialogue."""
    length = documents.shape[1]
    earlier = torch.ones(length, length, dtype=torch.bool).tril()
    allowed = earlier & (documents[:, :, None] == documents[:, None, :])
    return torch.zeros(allowed.shape, dtype=dtype).masked_fill_(~allowed, float("-inf"))[:, None]


def weighted_loss(
    forward: Callable[..., Tensor], network: Network, ids: Tensor, weights: Tensor, documents: Tensor
) -> tuple[Tensor, Tensor]:
    """The sum of the weighted losses of a batch, and the sum of the weights.

    `forward` is the network itself or its compiled form. No scores are computed for tokens without a weight.
    """
    x = forward(ids, document_mask(documents, COMPUTED_IN), COMPUTED_IN)
    weights = weights[:, 1:] * (documents[:, 1:] == documents[:, :-1])
    counted = weights > 0
    scores = network.logits(x[:, :-1][counted])
    losses = F.cross_entropy(scores, ids[:, 1:][counted], reduction="none")
    return (losses * weights[counted]).sum(), weights.sum()


# So many queries are taken at once. They see nothing behind themselves, so that half of a long row is not computed.
_QUERIES = 512


def _seen(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """What each query takes from the values, a block of queries at a time."""
    length, before = q.shape[2], k.shape[2] - q.shape[2]
    parts = []
    for begin in range(0, length, _QUERIES):
        end = min(begin + _QUERIES, length)
        seen = before + end
        # Spelt out: at these lengths the fused kernel takes more than twice as long on a processor.
        scores = (q[:, :, begin:end] @ k[:, :, :seen].transpose(-1, -2)).float() * q.shape[3] ** -0.5
        parts.append((scores + mask[..., begin:end, :seen]).softmax(-1).to(v.dtype) @ v[:, :, :seen])
    return torch.cat(parts, 2) if len(parts) > 1 else parts[0]


def _norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight.to(x.dtype), epsilon)


def _rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotates pairs that lie half a head apart; the export reorders them to neighbours, as llama's files have them."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def _normal(*size: int) -> Tensor:
    return torch.randn(*size) * 0.02
