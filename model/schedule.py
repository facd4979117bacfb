"""Sequence length and learning rate over the progress of a run, which goes from 0 to 1."""

from random import Random

# (progress until which it holds, longest sequence): recall emerges fast where it is short, and then has to stretch
STAGES = ((0.15, 128), (0.3, 256), (0.55, 512), (0.7, 1024), (0.82, 2048), (0.92, 4096), (1.0, 8192))


def stages(text: str) -> tuple:
    """ "0.5:256,1:512" as pairs."""
    pairs = (part.split(":") for part in text.split(","))
    return tuple((float(until), int(length)) for until, length in pairs)


def longest(stages: tuple, progress: float) -> int:
    return next((length for until, length in stages if progress < until), stages[-1][1])


def sequence_length(seed: int, step: int, longest: int) -> int:
    """The stage's length, and every third time a shorter one, so that short recall is not lost."""
    rng = Random(f"length {seed} {step}")
    return max(128, longest >> rng.choice((0, 0, 0, 0, 1, 2)))


def rate(progress: float, step: int, peak: float, warmup: int, decay_from: float = 0.5) -> float:
    """Linear warm-up in steps, the peak, then a line to zero: the long sequences at the end still get some of it."""
    warm = min(1.0, (step + 1) / warmup)
    if progress <= decay_from:
        return peak * warm
    return peak * warm * max(0.0, (1 - progress) / (1 - decay_from))
