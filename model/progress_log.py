"""The log of a run: one JSON object per line, and means per label since the last line."""

import json
from pathlib import Path

import numpy as np

from labels import LABELS


class Means:
    def __init__(self):
        self.reset()

    def reset(self) -> None:
        self.count = np.zeros(len(LABELS))
        self.loss = np.zeros(len(LABELS))
        self.right = np.zeros(len(LABELS))

    def add(self, losses, right, labels) -> None:
        labels = labels.cpu().numpy()
        self.count += np.bincount(labels, minlength=len(LABELS))
        self.loss += np.bincount(labels, losses.cpu().numpy(), len(LABELS))
        self.right += np.bincount(labels, right.cpu().numpy(), len(LABELS))

    def take(self) -> dict:
        """Loss of text, accuracy per answer token of each family, and forget."""
        seen = self.count > 0
        answers = {
            name: round(self.right[i] / self.count[i], 3) for i, name in enumerate(LABELS) if seen[i] and i
        }
        text = round(self.loss[0] / max(1, self.count[0]), 3)
        answer_loss = round(self.loss[1:].sum() / max(1, self.count[1:].sum()), 3)
        self.reset()
        return {"text_loss": text, "answer_loss": answer_loss, "accuracy": answers}


def write(path: Path, row: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
