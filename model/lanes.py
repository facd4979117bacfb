"""
Parts of a batch side by side, a lane each: sequences share nothing, so that two of them on one core each are done sooner
than one on both.
"""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import torch

from loss import batch_loss


class Lanes:
    def __init__(self, network, count: int):
        """Lanes have the network's weights in common, and gradients of their own."""
        self.networks = [network, *(sharing(network) for _ in range(count - 1))]
        many = {"initializer": torch.set_num_threads, "initargs": (1,)} if count > 1 else {}
        self.pool = ThreadPoolExecutor(count, **many)

    def backward(self, parts: list) -> list:
        """What `batch_loss` makes of each of the (batch, scale); the gradients add up in the network."""
        count = len(self.networks)
        work = lambda lane: [batch_loss(self.networks[lane], *part) for part in parts[lane::count]]  # noqa: E731
        found = [row for rows in self.pool.map(work, range(count)) for row in rows]
        own, *others = (list(network.parameters()) for network in self.networks)
        for params in others:
            for p, other in zip(own, params):
                if other.grad is not None:
                    p.grad.add_(other.grad)
                    other.grad = None
        return found


def sharing(network):
    made = deepcopy(network)
    for p, other in zip(network.parameters(), made.parameters()):
        other.data = p.data
    return made
