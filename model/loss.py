"""The loss of a batch: only where it counts, so that the output matrix is not multiplied for nothing."""

from contextlib import nullcontext

import torch
from torch.nn import functional as F

# logits of so many positions at a time
CHUNK = 4096


def batch_loss(network, batch, scale: float = 1.0):
    """
    Adds the gradient of scale * (mean over counting positions) to the network's. Gives, per counting position, its
    loss, whether it was predicted, and its label.
    """
    inputs, targets = batch.ids[:, :-1], batch.ids[:, 1:]
    with torch.autocast("cuda", torch.bfloat16) if inputs.is_cuda else nullcontext():
        states = network.hidden(inputs, batch.positions)
    counts = batch.counts
    states, targets, labels = states[counts].float(), targets[counts], batch.labels[counts]
    losses, right = [], []
    # the gradient of each chunk is taken at once and its logits are dropped
    leaf = states.detach().requires_grad_()
    for begin in range(0, len(targets), CHUNK):
        logits = network.logits(leaf[begin : begin + CHUNK])
        part = F.cross_entropy(logits, targets[begin : begin + CHUNK], reduction="none")
        (part.sum() * (scale / len(targets))).backward()
        losses.append(part.detach())
        right.append(logits.detach().argmax(-1) == targets[begin : begin + CHUNK])
    states.backward(leaf.grad)
    return torch.cat(losses), torch.cat(right), labels
