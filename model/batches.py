"""
Batches by (seed, step): the same whoever makes them and in whatever order, so that training can resume and several
processes can prepare them.
"""

from random import Random
from typing import NamedTuple

import numpy as np

from corpus import Texts
from document import compose
from filler import Filler
from mix import Mix
from tokenizer import Tokenizer


class Batch(NamedTuple):
    ids: np.ndarray  # int64 [batch, n + 1]
    positions: np.ndarray  # int64 [batch, n]
    # bool [batch, n]: whether the next token counts in the loss
    counts: np.ndarray
    # uint8 [batch, n]: label of the next token
    labels: np.ndarray


class BatchMaker:
    def __init__(self, tokenizer: Tokenizer, english: Texts, context: int, seed: int):
        self.tokenizer = tokenizer
        self.filler = Filler(tokenizer, english)
        self.context = context
        self.seed = seed

    def make(self, step: int, length: int, batch: int, mix: Mix) -> Batch:
        shares = dict(mix.families)
        rng = Random(f"{self.seed} {step}")
        noise = np.random.default_rng((self.seed, step))
        ids = np.empty((batch, length + 1), np.int64)
        labels = np.zeros((batch, length), np.uint8)
        positions = np.empty((batch, length), np.int64)
        share = np.empty((batch, 1))
        for row in range(batch):
            natural = rng.random() < mix.english
            if natural:
                ids[row] = [self.tokenizer.bos, *self.filler.window(rng, length)]
            else:
                made = compose(rng, self.tokenizer, length + 1, shares, self.filler, mix.filled)
                ids[row] = made.ids
                labels[row] = made.kinds[1:]
            share[row] = mix.english_loss if natural else mix.text_loss
            positions[row] = self.place(rng, length, mix)
        counts = (labels > 0) | (noise.random((batch, length)) < share)
        return Batch(ids, positions, counts, labels)

    def place(self, rng, length: int, mix: Mix) -> np.ndarray:
        """0 to length - 1, or the same with a few jumps that reach into the whole context."""
        positions = np.arange(length)
        spare = self.context - length
        if spare > 0 and rng.random() < mix.jumps:
            jumps = rng.choice((1, 2, 4))
            reach = rng.randint(1, spare)
            sizes = np.diff([0, *sorted(rng.randint(0, reach) for _ in range(jumps - 1)), reach])
            for at, size in zip(sorted(rng.randrange(1, length) for _ in range(jumps)), sizes):
                positions[at:] += size
        return positions
