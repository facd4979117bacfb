"""
What is stated where, by the name of an evaluation task. A task is a function of a context: its random numbers, its
size in tokens, the chunk S of the prefill that will read it, and its index among the contexts of the task.
"""

from random import Random
from typing import Callable, NamedTuple

from labels import MAX_HOPS
from placing import Stated, slots
from tasks import FAMILIES, Fact, records
from tokenizer import Tokenizer
from words import ADJECTIVES, NOUNS, VALUES

DEPTHS = (0.05, 0.25, 0.5, 0.75, 0.95)
SLOT = 32  # tokens that a short statement takes at most


class Context(NamedTuple):
    rng: Random
    tokenizer: Tokenizer
    size: int
    chunk: int
    index: int

    @property
    def seams(self) -> list[int]:
        """Where a chunk ends and the next one begins."""
        found = list(range(self.chunk, self.size - SLOT, self.chunk))
        if not found:
            raise ValueError(f"{self.size} tokens hold no seam between chunks of {self.chunk}")
        return found


Task = Callable[[Context], list[Stated]]


def passkey(c: Context) -> list[Stated]:
    """One key, stated twice in a row, at one of the depths."""
    [fact] = FAMILIES["passkey"].facts(c.rng, 1)
    return [Stated(fact, [at_depth(c, DEPTHS[c.index % len(DEPTHS)])])]


def passkey_seam(c: Context) -> list[Stated]:
    """The same with a seam between the second and the third digit, of the first and the second mention in turn."""
    [fact] = FAMILIES["passkey"].facts(c.rng, 1)
    seam = c.seams[c.index // 2 % len(c.seams)]
    return [Stated(fact, [seam - digit_offset(c, fact, 2 + 5 * (c.index % 2))])]


def needle(c: Context) -> list[Stated]:
    """A named number at each depth, stated once."""
    facts = FAMILIES["needle"].facts(c.rng, len(DEPTHS))
    return [Stated(fact, [at_depth(c, depth)]) for fact, depth in zip(facts, DEPTHS)]


def needle_seam(c: Context) -> list[Stated]:
    """A named number across every seam; five of them are asked for."""
    facts = FAMILIES["needle"].facts(c.rng, len(c.seams))
    asked = set(c.rng.sample(range(len(facts)), min(5, len(facts))))
    return [
        Stated(fact, [seam - digit_offset(c, fact, 2)], i in asked)
        for i, (fact, seam) in enumerate(zip(facts, c.seams))
    ]


def near(c: Context) -> list[Stated]:
    """Records, where for every key that is asked for two share its adjective and two its noun, with other values."""
    taken: set[tuple[str, str]] = set()
    facts: list[Fact] = []
    asked = []
    adjectives, nouns = c.rng.sample(ADJECTIVES, len(DEPTHS)), c.rng.sample(NOUNS, len(DEPTHS))
    for adjective, noun in zip(adjectives, nouns):
        others = [(word, noun) for word in c.rng.sample([w for w in ADJECTIVES if w not in adjectives], 2)]
        others += [(adjective, word) for word in c.rng.sample([w for w in NOUNS if w not in nouns], 2)]
        asked.append(len(facts))
        group = [(adjective, noun), *others]
        taken.update(group)
        facts += [records.record(" ".join(key), value) for key, value in zip(group, c.rng.sample(VALUES, 5))]
    count = max(len(facts), c.size // 64)
    while len(facts) < count:
        key = (c.rng.choice(ADJECTIVES), c.rng.choice(NOUNS))
        if key not in taken:
            taken.add(key)
            facts.append(records.record(" ".join(key), c.rng.choice(VALUES)))
    places = slots(c.rng, count, 1, c.size, SLOT // 2)
    # one of the asked near each depth, all others anywhere
    chosen = nearest(places, [depth * c.size for depth in DEPTHS])
    free = [place for i, place in enumerate(places) if i not in chosen]
    c.rng.shuffle(free)
    rest = iter(free)
    at = {i: places[j] for i, j in zip(asked, chosen)}
    return [Stated(fact, [at[i] if i in at else next(rest)], i in at) for i, fact in enumerate(facts)]


def scattered(family: str, share: int, slot: int = SLOT) -> Task:
    """A fact for every `share` tokens; one near each depth is asked for."""

    def task(c: Context) -> list[Stated]:
        count = max(2, min(c.size // share, FAMILIES[family].LIMIT))
        facts = FAMILIES[family].facts(c.rng, count)
        places = slots(c.rng, count, 1, c.size, slot)
        asked = set(nearest(places, [depth * c.size for depth in DEPTHS]))
        return [Stated(fact, [place], i in asked) for i, (fact, place) in enumerate(zip(facts, places))]

    return task


def variables(hops: int) -> Task:
    """Chains of `hops` statements, each in a chunk of its own, and none in the one that is asked from."""

    def task(c: Context) -> list[Stated]:
        count = max(2, min(12, c.size // 128))
        chains = FAMILIES["variables"].facts(c.rng, count, hops=hops)
        parts = parts_for(c, hops)
        places = [slots(c.rng, count, begin, end, 16) for begin, end in parts]
        for some in places:
            c.rng.shuffle(some)
        stated = []
        for i, fact in enumerate(chains):
            at = [places[j].pop() for j in sorted(c.rng.sample(range(len(parts)), hops))]
            stated.append(Stated(fact, at, i < len(DEPTHS)))
        return stated

    return task


BEHIND: dict[str, Task] = {
    "passkey": passkey,
    "passkey-seam": passkey_seam,
    "needle": needle,
    "needle-seam": needle_seam,
    "pairs": scattered("pairs", 64),
    "records": scattered("records", 64),
    "records-near": near,
    "copy": scattered("copy", 256, 2 * SLOT),
    "story": scattered("story", 256),
    "table": scattered("table", 128),
    "code": scattered("code", 128),
    **{f"variables-{hops}": variables(hops) for hops in range(1, MAX_HOPS + 1)},
}


def parts_for(c: Context, hops: int) -> list[tuple[int, int]]:
    """Begin and end of chunks to put hops into; where there are too few of them, of that many parts."""
    chunks = c.size // c.chunk
    if chunks < hops:
        return [(max(1, c.size * i // hops), c.size * (i + 1) // hops) for i in range(hops)]
    return [(max(1, i * c.chunk), (i + 1) * c.chunk) for i in range(chunks)]


def at_depth(c: Context, depth: float) -> int:
    return max(1, int(depth * c.size) - (SLOT if depth > 0.9 else 0))


def digit_offset(c: Context, fact: Fact, digit: int) -> int:
    """Where in a statement's tokens the digit is; every digit is a token."""
    ids = c.tokenizer.encode(fact.statements[0])
    return [i for i, token in enumerate(ids) if chr(token).isdigit() and token < 256][digit]


def nearest(places: list[int], wanted: list[float]) -> list[int]:
    """The index of a place near each of the wanted ones, no two alike."""
    found: list[int] = []
    for at in wanted[: len(places)]:
        free = (i for i in range(len(places)) if i not in found)
        found.append(min(free, key=lambda i: abs(places[i] - at)))
    return found
