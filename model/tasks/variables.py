"""
Variable tracking: `let river gold`, `let boat river`, then what boat is. A chain of n statements gives questions of 1
to n hops: the first variable is one hop from its value. What a name stands for follows right behind it, as in `pairs`:
so the look-up that answers a question is the one that resolves the right side of a statement.
"""

from words import NOUNS, VALUES

from .fact import Ask, Fact

LIMIT = len(NOUNS) // 3  # chains of up to 3 variables, all with different names


def facts(rng, count: int, hops: int | None = None) -> list[Fact]:
    names = iter(rng.sample(NOUNS, 3 * count))
    return [chain(rng, names, hops or rng.choice((1, 2, 2, 3))) for _ in range(count)]


def chain(rng, names, hops: int) -> Fact:
    value = rng.choice(VALUES)
    name = next(names)
    statements = [f"let {name} {value}\n"]
    asks = [ask(name, value, 1)]
    for hop in range(2, hops + 1):
        before, name = name, next(names)
        statements.append(f"let {name} {before}\n")
        asks.append(ask(name, value, hop))
    # the farthest first: once a nearer one is answered, the value is found there
    return Fact(statements, asks[::-1])


def ask(name: str, value: str, hops: int) -> Ask:
    return Ask(f"print {name}", f" {value}", "\n", hops)
