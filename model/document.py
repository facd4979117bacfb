"""
Puts statements, questions and filler together to a document of exactly n tokens: facts are stated somewhere, asked
for somewhere later, and other text lies between.
"""

from typing import NamedTuple

from labels import label
from tasks import FAMILIES, Fact
from tokenizer import Tokenizer

TEXT = 0


class Document(NamedTuple):
    ids: list[int]
    # for each id TEXT, or the label of the answer that it belongs to
    kinds: list[int]


class Piece(NamedTuple):
    """A statement or an ask with its place in the document, from 0 to 1."""

    at: float
    ids: list[int]
    kinds: list[int]


FILLED = (0.35, 0.6, 0.9, 1.0)


def compose(
    rng, tokenizer: Tokenizer, length: int, shares: dict[str, float], filler, filled=FILLED
) -> Document:
    """
    A document of `length` tokens, BOS included. `shares` says how likely a family is; `filler(rng, n)` gives n ids.
    Facts take one of the shares `filled` of it: much, so that short documents teach as much as they can.
    """
    names = draw_families(rng, shares)
    room = int((length - 1) * rng.choice(filled))
    late = rng.random() < 0.5
    pieces = []
    for name in names:
        for fact in draw_facts(rng, name, room // len(names)):
            placed = place(rng, tokenizer, name, fact, late)
            size = sum(len(piece.ids) for piece in placed)
            if size <= room:
                room -= size
                pieces += placed
    pieces.sort(key=lambda piece: piece.at)
    spare = length - 1 - sum(len(piece.ids) for piece in pieces)
    return join(rng, tokenizer, pieces, spare, filler)


def draw_families(rng, shares: dict[str, float]) -> list[str]:
    """One family, or two or three that disturb each other."""
    count = rng.choice((1, 1, 2, 3))
    names = rng.choices(list(shares), list(shares.values()), k=count)
    return sorted(set(names))


# tokens that a fact with its asks takes, about; only to guess how many fit
_SIZES = {
    "passkey": 50,
    "needle": 48,
    "pairs": 11,
    "records": 13,
    "variables": 28,
    "copy": 38,
    "story": 22,
    "table": 40,
    "code": 26,
}


def draw_facts(rng, name: str, room: int) -> list[Fact]:
    family = FAMILIES[name]
    return family.facts(rng, min(family.LIMIT, room // _SIZES[name] + 1))


def place(rng, tokenizer: Tokenizer, name: str, fact: Fact, late: bool) -> list[Piece]:
    """Times for the statements in their order, then for the asks; `late`: all asks come after all statements."""
    span = 0.6 if late else 0.95
    times = sorted(rng.random() * span for _ in fact.statements)
    placed = []
    for at, statement in zip(times, fact.statements):
        ids = tokenizer.encode(statement)
        placed.append(Piece(at, ids, [TEXT] * len(ids)))
    begin = span if late else times[-1]
    for at, ask in zip(sorted(begin + rng.random() * (1 - begin) for _ in fact.asks), fact.asks):
        question, answer, after = (tokenizer.encode(text) for text in (ask.question, ask.answer, ask.after))
        kinds = [TEXT] * len(question) + [label(name, ask)] * len(answer) + [TEXT] * len(after)
        placed.append(Piece(at, question + answer + after, kinds))
    return placed


def join(rng, tokenizer: Tokenizer, pieces: list[Piece], spare: int, filler) -> Document:
    """The pieces in order with `spare` tokens of filler, spread over some of the gaps."""
    gaps = [0] * (len(pieces) + 1)
    cuts = min(len(gaps), 1 + spare // 24)
    for i in rng.sample(range(len(gaps)), cuts):
        gaps[i] = 1
    weights = [gap * rng.random() for gap in gaps]
    scale = spare / (sum(weights) or 1)
    sizes = [int(weight * scale) for weight in weights]
    sizes[max(range(len(gaps)), key=gaps.__getitem__)] += spare - sum(sizes)
    ids, kinds = [tokenizer.bos], [TEXT]
    for i, size in enumerate(sizes):
        if size:
            ids += filler(rng, size)
            kinds += [TEXT] * size
        if i < len(pieces):
            ids += pieces[i].ids
            kinds += pieces[i].kinds
    return Document(ids, kinds)
