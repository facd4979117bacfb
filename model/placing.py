"""Documents for evaluation, in which every statement begins at a chosen token."""

from typing import NamedTuple

from tasks import Fact


class Stated(NamedTuple):
    """A fact, the positions of the first tokens of its statements, and whether it is asked for."""

    fact: Fact
    at: list[int]
    asked: bool = True


class Piece(NamedTuple):
    at: int
    ids: list[int]


def fill(rng, bos: int, pieces: list[Piece], size: int, filler) -> list[int]:
    """`size` ids with BOS in front, pieces at their places and filler between them. What overlaps moves back."""
    ids = [bos]
    for piece in sorted(pieces, key=lambda piece: piece.at):
        if piece.at > len(ids):
            ids += filler(rng, piece.at - len(ids))
        ids += piece.ids
    if len(ids) > size:
        raise ValueError(f"{len(ids)} tokens of statements and filler do not fit into {size}")
    return ids + (filler(rng, size - len(ids)) if size > len(ids) else [])


def slots(rng, count: int, begin: int, end: int, width: int) -> list[int]:
    """`count` different places between `begin` and `end`, in order, that keep `width` tokens apart."""
    there = (end - begin) // width
    if count > there:
        raise ValueError(f"{end - begin} tokens have no room for {count} statements of {width}")
    return [begin + width * i for i in sorted(rng.sample(range(there), count))]
