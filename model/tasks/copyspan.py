"""Copied spans: a note of some words with a title, later repeated word for word."""

from words import ADJECTIVES, NOUNS, VALUES, keys

from .fact import Ask, Fact

LIMIT = 200
_WORDS = NOUNS + ADJECTIVES + VALUES


def facts(rng, count: int) -> list[Fact]:
    made = []
    for key in keys(rng, count):
        span = "".join(" " + rng.choice(_WORDS) for _ in range(rng.randint(4, 16)))
        made.append(Fact([f"Note {key}:{span}.\n"], [Ask(f"Repeat note {key}:", span)]))
    return made
