"""Writes the trained network as a GGUF that llama.cpp reads."""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from gguf import TokenType

from .chat import END_OF_TEXT, IM_END, SPECIAL_TOKENS, TEMPLATE
from .model import Shape
from .packing import LENGTHS
from .vocabulary import Vocabulary, escaped, load


def export(folder: Path, target: Path) -> None:
    """Writes `target` from the vocabulary and the averaged weights of a run."""
    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    shape = Shape(**state["shape"])
    weights: dict[str, torch.Tensor] = state["average"]
    target.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(target), "llama")
    _describe(writer, shape, state["tokens"], state["warm"])
    _add_vocabulary(writer, load(folder / "vocabulary.json"))
    _add_weights(writer, shape, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, shape: Shape, tokens: int, warm: bool) -> None:
    writer.add_name("Madang seed")
    trained = f"trained on {tokens / 1e6:.1f} M tokens of generated dialogues{' from an earlier one' if warm else ''}"
    writer.add_description(f"A demonstration model for Madang's toolkits life and notes, {trained}.")
    writer.add_license("MIT OR Apache-2.0")
    writer.add_languages(["ko", "en"])
    writer.add_context_length(LENGTHS[-1])
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.groups)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _add_vocabulary(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    special = {token: vocabulary.numbers[token.encode()] for token in SPECIAL_TOKENS}
    writer.add_tokenizer_model("rwkv")
    writer.add_token_list([escaped(token) for token in vocabulary.tokens])
    kinds = [TokenType.CONTROL if number in special.values() else TokenType.NORMAL for number in range(len(vocabulary))]
    writer.add_token_types(kinds)
    writer.add_eos_token_id(special[IM_END])
    writer.add_eot_token_id(special[IM_END])
    writer.add_pad_token_id(special[END_OF_TEXT])
    writer.add_bos_token_id(special[END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(TEMPLATE)


def _add_weights(writer: gguf.GGUFWriter, shape: Shape, weights: dict[str, torch.Tensor]) -> None:
    def matrix(name: str, values: torch.Tensor) -> None:
        packed = gguf.quants.quantize(np.ascontiguousarray(values.numpy(), np.float32), Type.Q8_0)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=Type.Q8_0)

    def vector(name: str, values: torch.Tensor) -> None:
        writer.add_tensor(f"{name}.weight", values.numpy().astype(np.float32))

    matrix("token_embd", weights["embedding"])
    vector("output_norm", weights["norm"])
    keys = shape.groups * shape.head
    for number in range(shape.layers):
        own = {name.split(".", 2)[2]: value for name, value in weights.items() if name.startswith(f"blocks.{number}.")}
        q, k, v = own["qkv"].split([shape.width, keys, keys])
        gate, up = own["gate_up"].chunk(2)
        vector(f"blk.{number}.attn_norm", own["attention_norm"])
        matrix(f"blk.{number}.attn_q", _interleaved(q, shape.head))
        matrix(f"blk.{number}.attn_k", _interleaved(k, shape.head))
        matrix(f"blk.{number}.attn_v", v)
        matrix(f"blk.{number}.attn_output", own["out"])
        vector(f"blk.{number}.ffn_norm", own["ffn_norm"])
        matrix(f"blk.{number}.ffn_gate", gate)
        matrix(f"blk.{number}.ffn_up", up)
        matrix(f"blk.{number}.ffn_down", own["down"])


def _interleaved(rows: torch.Tensor, head: int) -> torch.Tensor:
    """Puts the two halves of each head's rotated pairs next to each other, as llama's files have them."""
    return rows.view(-1, 2, head // 2, rows.shape[-1]).transpose(1, 2).reshape(rows.shape)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write the GGUF of a training run.")
    parser.add_argument("--run", type=Path, required=True, help="folder of vocabulary and checkpoint")
    parser.add_argument("--out", type=Path, required=True, help="the GGUF to write")
    arguments = parser.parse_args()
    export(arguments.run, arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
