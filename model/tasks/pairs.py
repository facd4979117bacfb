"""Pairs of a key and the word right behind it: a look-up that one induction head can do, so the first to be learnt."""

from words import VALUES, keys

from .fact import Ask, Fact

LIMIT = 1000


def facts(rng, count: int) -> list[Fact]:
    made = []
    for key in keys(rng, count):
        value = rng.choice(VALUES)
        made.append(Fact([f"+ {key} {value}\n"], [Ask(f"> {key}", f" {value}", "\n")]))
    return made
