"""
Evaluation items as JSON lines, one context each: {task, length, ids, asks}. Of a task that asks behind its context an ask
is {question, answer, where} to be read after `ids`; of one that asks inside, {at, answer, where}: the tokens of the answer
begin at `at`. Everything is token ids, so that a statement lies exactly where it is meant to, BOS at position 0. `where` is
the depth of the statement, or how many chunks before the question it stands.
"""

import argparse
import json
import sys
from array import array
from pathlib import Path
from random import Random

from corpus import Texts
from eval_inside import INSIDE
from eval_tasks import BEHIND, Context
from filler import Filler
from placing import Piece, fill
from tokenizer import Tokenizer

ROOM = 48  # tokens kept for question and answer


class Maker:
    def __init__(self, tokenizer: Tokenizer, text: str, chunk: int, seed: int):
        self.tokenizer = tokenizer
        self.filler = Filler(tokenizer, Texts(array("H", tokenizer.encode(text)), [0]))
        self.chunk = chunk
        self.seed = seed

    def item(self, task: str, length: int, index: int) -> dict:
        rng = Random(f"{self.seed} {task} {length} {self.chunk} {index}")
        size = length if task in INSIDE else length - ROOM
        context = Context(rng, self.tokenizer, size, self.chunk, index)
        ids, asks = (self.inside if task in INSIDE else self.behind)(task, context)
        return {"task": task, "length": length, "ids": ids, "asks": asks}

    def behind(self, task: str, c: Context) -> tuple[list[int], list[dict]]:
        encode = self.tokenizer.encode
        stated = BEHIND[task](c)
        pieces = [
            Piece(at, encode(statement))
            for fact, places, _ in stated
            for at, statement in zip(places, fact.statements)
        ]
        asks = []
        for fact, places, asked in stated:
            if asked:
                ask = fact.asks[0]
                question, answer = split(encode(ask.question), encode(ask.answer))
                assert len(question) + len(answer) <= ROOM, f"{ask} is too long"
                asks.append(
                    {"question": question, "answer": answer, "where": round(places[0] / c.size, 2)}
                )
        return fill(c.rng, self.tokenizer.bos, pieces, c.size, self.filler), asks

    def inside(self, task: str, c: Context) -> tuple[list[int], list[dict]]:
        made = INSIDE[task](c)
        ids = fill(c.rng, self.tokenizer.bos, made.pieces, c.size, self.filler)
        asks = [{"at": at, "answer": answer, "where": back} for at, answer, back in made.answers]
        assert all(ids[ask["at"] : ask["at"] + len(ask["answer"])] == ask["answer"] for ask in asks)
        return ids, asks


def split(question: list[int], answer: list[int]) -> tuple[list[int], list[int]]:
    """The space before digits is a token of its own: it ends the question, or it would be all that a prompt predicts."""
    return (question + answer[:1], answer[1:]) if answer[0] == ord(" ") else (question, answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="what lies between the statements; noise if left out")
    parser.add_argument("--chunk", type=int, default=1024, help="S of the prefill that the items are for")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
    parser.add_argument("--tasks", default="", help="names, comma-separated; all of them if left out")
    parser.add_argument("--contexts", type=int, default=10, help="per task and length")
    parser.add_argument("--seed", type=int, default=1000)
    args = parser.parse_args()
    maker = Maker(Tokenizer.load(), args.text.read_text() if args.text else "", args.chunk, args.seed)
    tasks = args.tasks.split(",") if args.tasks else [*BEHIND, *INSIDE]
    for length in map(int, args.lengths.split(",")):
        for task in tasks:
            if not args.tasks and length < 2 * args.chunk and (task in INSIDE or task.endswith("-seam")):
                continue
            for index in range(args.contexts):
                sys.stdout.write(json.dumps(maker.item(task, length, index)) + "\n")


if __name__ == "__main__":
    main()
