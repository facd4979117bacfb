"""Single-key recall: the number of a named thing, in one sentence."""

from words import digits, keys

from .fact import Ask, Fact

LIMIT = 400


def facts(rng, count: int) -> list[Fact]:
    made = []
    for key in keys(rng, count):
        number = digits(rng, 4)
        statement = f"The number of the {key} is {number}.\n"
        question = f"What is the number of the {key}? The number of the {key} is"
        made.append(Fact([statement], [Ask(question, f" {number}")]))
    return made
