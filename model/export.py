"""The network as a GGUF file of architecture qwen3, with its tokenizer. Norms stay F32, as llama.cpp wants them."""

import argparse
from pathlib import Path

import gguf_file
from config import ModelConfig
from gguf_file import Tensor
from metadata import FILE_TYPES, model_metadata, vocabulary
from tokenizer import Tokenizer

_PARTS = {
    "attn_norm": "attn_norm",
    "attn.q": "attn_q",
    "attn.k": "attn_k",
    "attn.v": "attn_v",
    "attn.out": "attn_output",
    "attn.q_norm": "attn_q_norm",
    "attn.k_norm": "attn_k_norm",
    "ffn_norm": "ffn_norm",
    "ffn.gate": "ffn_gate",
    "ffn.up": "ffn_up",
    "ffn.down": "ffn_down",
}


def write(network, tokenizer: Tokenizer, path: Path, type: str) -> None:
    tensors = []
    for name, weight in network.state_dict().items():
        values = weight.detach().float().cpu().numpy()
        tensors.append(Tensor(tensor_name(name), values, type if values.ndim == 2 else "f32"))
    gguf_file.write(path, {**model_metadata(network.c, type), **vocabulary(tokenizer)}, tensors)


def tensor_name(name: str) -> str:
    """llama.cpp's name for one of the network's parameters."""
    name = name.removesuffix(".weight")
    if name.startswith("layers."):
        _, layer, part = name.split(".", 2)
        return f"blk.{layer}.{_PARTS[part]}.weight"
    return {"embedding": "token_embd", "norm": "output_norm"}[name] + ".weight"


def main() -> None:
    import checkpoint
    from network import Network

    parser = argparse.ArgumentParser(description="A checkpoint as a GGUF file.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--type", default="q8_0", choices=FILE_TYPES)
    args = parser.parse_args()
    state = checkpoint.load(args.checkpoint)
    network = Network(ModelConfig(**state["config"]))
    network.load_state_dict(state["network"])
    write(network, Tokenizer.load(), args.model, args.type)


if __name__ == "__main__":
    main()
