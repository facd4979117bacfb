"""Writes what the network says about a text: for check.mjs, which holds it against llama.cpp."""

import argparse
import json
from pathlib import Path
from random import Random

import torch

import checkpoint
import corpus
import export
from batches import BatchMaker
from config import PRESETS, ModelConfig
from network import Network
from tokenizer import Tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the files; with a checkpoint, its network is taken")
    parser.add_argument("--tokens", type=int, default=700)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    tokenizer = Tokenizer.load()
    network = load(args.folder / "checkpoint.pt")
    text = sample(args.folder, tokenizer, args.tokens)
    ids = [tokenizer.bos, *tokenizer.encode(text)]
    for type in "f32", "f16":
        export.write(network, tokenizer, args.folder / f"check-{type}.gguf", type)
        with torch.no_grad():
            if type == "f16":
                round_weights(network)
            logits = network(torch.tensor([ids]))[0]
        (args.folder / f"check-{type}.bin").write_bytes(logits.numpy().tobytes())
    (args.folder / "check.json").write_text(json.dumps({"text": text, "ids": ids}))


def round_weights(network: Network) -> None:
    for p in network.parameters():
        if p.dim() == 2:
            p.copy_(p.half())


def load(path: Path) -> Network:
    """The trained network, or one with random weights."""
    if not path.exists():
        return Network(PRESETS["small"])
    state = checkpoint.load(path)
    network = Network(ModelConfig(**state["config"]))
    network.load_state_dict(state["network"])
    return network


def sample(folder: Path, tokenizer: Tokenizer, size: int) -> str:
    """Half a task document, half natural English."""
    english, _ = corpus.load(folder, tokenizer)
    maker = BatchMaker(tokenizer, english, size, seed=7)
    tasks = maker.make(0, size // 2, 4).ids[-1][1:]
    return tokenizer.decode([*tasks, *maker.filler.window(Random(7), size // 2)])


if __name__ == "__main__":
    main()
