"""What a task family gives to the document builder: things stated once, and questions about them."""

from typing import NamedTuple


class Ask(NamedTuple):
    """Text before the answer, the answer (it begins with its space), and text after it."""

    question: str
    answer: str
    after: str = ".\n"
    hops: int = 1


class Fact(NamedTuple):
    """Statements in their order, which other text may separate, and asks that come after the last of them."""

    statements: list[str]
    asks: list[Ask]
