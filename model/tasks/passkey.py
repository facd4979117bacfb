"""One five-digit pass key in a long text, stated twice in a row, as the common test has it."""

from words import digits

from .fact import Ask, Fact

LIMIT = 1  # in a document


def facts(rng, count: int) -> list[Fact]:
    key = digits(rng, 5)
    statement = f"The pass key is {key}. Remember it: the pass key is {key}.\n"
    return [Fact([statement], [Ask("What is the pass key? The pass key is", f" {key}")])]
