"""Code-like text: constants set at the top and checked far below."""

from words import digits, pairs

from .fact import Ask, Fact

LIMIT = 200


def facts(rng, count: int) -> list[Fact]:
    made = []
    for pair in pairs(rng, count):
        name = pair.replace(" ", "_")
        value = digits(rng, 3)
        made.append(Fact([f"set {name} = {value}\n"], [Ask(f"assert {name} ==", f" {value}", "\n")]))
    return made
