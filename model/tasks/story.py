"""Stories: where people live and what they carry, told once and needed later."""

from words import NAMES, NOUNS, PLACES, VALUES

from .fact import Ask, Fact

LIMIT = len(NAMES)  # one fact each


def facts(rng, count: int) -> list[Fact]:
    return [person(rng, name) for name in rng.sample(NAMES, count)]


def person(rng, name: str) -> Fact:
    place, thing, stuff = rng.choice(PLACES), rng.choice(NOUNS), rng.choice(VALUES)
    forms = (
        (f"Here {name} lives in {place}.\n", f"In the evening {name} went home to", f" {place}"),
        (f"Once {name} had a {thing} of {stuff}.\n", f"Then {name} took out the {thing} of", f" {stuff}"),
        (f"Long ago {name} was born in {place}.\n", f"Years later {name} went back to", f" {place}"),
    )
    statement, question, answer = rng.choice(forms)
    return Fact([statement], [Ask(question, answer)])
