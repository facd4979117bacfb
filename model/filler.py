"""What lies between the facts: windows of natural English, or the same few sentences again and again."""

from bisect import bisect_right

from corpus import Texts
from tokenizer import Tokenizer

NOISE = (
    "The grass is green. ",
    "The sky is blue. ",
    "The sun is yellow. ",
    "Here we go. ",
    "There and back again. ",
    "Nothing happens here. ",
)


class Filler:
    def __init__(self, tokenizer: Tokenizer, english: Texts):
        self.english = english
        self.newline = tokenizer.encode("\n")
        self.noise = [tokenizer.encode(sentence) for sentence in NOISE]

    def __call__(self, rng, size: int) -> list[int]:
        """Exactly `size` ids that end with a line feed, so that a statement or question begins a line."""
        room = size - len(self.newline)
        if room <= 0:
            return self.newline * size
        ids = self.window(rng, room) if rng.random() < 0.75 else self.repeated(rng, room)
        return ids + self.newline

    def window(self, rng, size: int) -> list[int]:
        """
        Natural English from a random place: of one text if that is long enough, else from its beginning and on into
        the next. Where there is not enough in all, noise.
        """
        ids, begins = self.english
        if len(ids) <= size:
            return self.repeated(rng, size)
        place = rng.randrange(len(ids) - size)
        text = bisect_right(begins, place)
        end = begins[text] if text < len(begins) else len(ids)
        begin = min(place, max(begins[text - 1], end - size), len(ids) - size)
        return list(ids[begin : begin + size])

    def repeated(self, rng, size: int) -> list[int]:
        ids: list[int] = []
        while len(ids) < size:
            ids += rng.choice(self.noise)
        return ids[:size]
