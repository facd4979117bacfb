"""Multi-key recall: many short records of a key and a word; one of them is asked for."""

from words import VALUES, keys

from .fact import Ask, Fact

LIMIT = 1000


def facts(rng, count: int) -> list[Fact]:
    return [record(key, rng.choice(VALUES)) for key in keys(rng, count)]


def record(key: str, value: str) -> Fact:
    return Fact([f"- {key}: {value}\n"], [Ask(f"? {key}:", f" {value}", "\n")])
