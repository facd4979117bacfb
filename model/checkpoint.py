"""Everything that a run needs to go on where it stopped, in one file that is replaced at once."""

import os
from pathlib import Path

import torch


def save(path: Path, network, optimizer, **rest) -> None:
    partial = path.with_suffix(".part")
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), **rest}
    torch.save(state, partial)
    os.replace(partial, path)


def load(path: Path, device="cpu") -> dict:
    return torch.load(path, map_location=device)
