"""What batches are made of: at the beginning of a run, after it, and once documents are long."""

from typing import NamedTuple

from document import FILLED


class Mix(NamedTuple):
    # share of sequences that are natural English alone
    english: float = 0.2
    # share of positions that count in the loss where nothing is asked, in task documents and in English
    text_loss: float = 0.1
    english_loss: float = 0.5
    # share of sequences whose positions jump, so that short sequences meet the distances of long ones
    jumps: float = 0.5
    # how much of a task document facts and questions may take
    filled: tuple = FILLED
    families: tuple = (
        ("copy", 3),
        ("pairs", 1),
        ("records", 4),
        ("needle", 2),
        ("passkey", 2),
        ("variables", 4),
        ("story", 1),
        ("table", 1),
        ("code", 1),
    )


# looking something up has to be found first: nothing but that, as often as it fits
FIRST = Mix(
    english=0.1,
    jumps=0.0,
    filled=(1.0,),
    families=(("copy", 2), ("pairs", 3), ("records", 2), ("variables", 3)),
)
MAIN = Mix()

# Few facts in much text are found less surely than many: where there is room, they are asked for too. English is read
# as a whole, since only there something far back says what comes next.
LONG = Mix(
    english=0.35,
    text_loss=0.005,
    english_loss=1.0,
    filled=(0.02, 0.1, 0.35, 0.9),
    families=(
        ("copy", 2),
        ("pairs", 1),
        ("records", 3),
        ("needle", 4),
        ("passkey", 3),
        ("variables", 3),
        ("story", 1),
        ("table", 2),
        ("code", 1),
    ),
)
LONG_FROM = 4096  # longest sequence of a stage
