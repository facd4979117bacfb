"""Questions with their answers inside the prompt: records stated in one chunk, asked for in the middle of later ones."""

from typing import NamedTuple

from eval_tasks import SLOT, Context
from placing import Piece, slots
from tasks import FAMILIES

PER_CHUNK = 2


class Inside(NamedTuple):
    pieces: list[Piece]
    # first tokens of the answers, the answers, and how many chunks before the statement was
    answers: list[tuple[int, list[int], int]]


def records_inside(c: Context) -> Inside:
    encode = c.tokenizer.encode
    ends = c.size - c.size % c.chunk  # a chunk that is cut short has its middle elsewhere
    count = c.size // 64
    facts = FAMILIES["records"].facts(c.rng, count)
    asks = [
        place
        for begin in range(c.chunk, ends, c.chunk)
        for place in slots(c.rng, PER_CHUNK, begin + c.chunk // 4, begin + 3 * c.chunk // 4, SLOT)
    ]
    free = [1 + SLOT * i for i in range((c.size - 1) // SLOT)]
    free = [place for place in free if all(abs(place - ask) >= SLOT for ask in asks)]
    places = sorted(c.rng.sample(free, count))
    pieces = [Piece(place, encode(fact.statements[0])) for place, fact in zip(places, facts)]
    answers = []
    asked: set[int] = set()
    for at in asks:
        chunk = at // c.chunk
        earlier = [i for i, place in enumerate(places) if place // c.chunk < chunk and i not in asked]
        # chunks, not places, with the same chance, so that far ones are asked for as well
        back = c.rng.choice(sorted({chunk - places[i] // c.chunk for i in earlier}))
        i = c.rng.choice([i for i in earlier if chunk - places[i] // c.chunk == back])
        asked.add(i)
        ask = facts[i].asks[0]
        question, answer = encode(ask.question), encode(ask.answer)
        pieces.append(Piece(at, question + answer + encode(ask.after)))
        answers.append((at + len(question), answer, back))
    return Inside(pieces, answers)


INSIDE = {"records-inside": records_inside}
