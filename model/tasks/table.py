"""Rows of a table with a key and three columns; any of the columns may be asked for."""

from words import PLACES, VALUES, digits, keys

from .fact import Ask, Fact

LIMIT = 300


def facts(rng, count: int) -> list[Fact]:
    made = []
    for key in keys(rng, count):
        row = {"metal": rng.choice(VALUES), "city": rng.choice(PLACES), "code": digits(rng, 2)}
        asks = [Ask(f"? {key} {column} =", f" {value}", "\n") for column, value in row.items()]
        rng.shuffle(asks)
        statement = f"| {key} | " + " | ".join(row.values()) + " |\n"
        made.append(Fact([statement], asks[: rng.randint(1, 3)]))
    return made
