"""
Evaluation items as JSON lines: a context, a question that ends where the answer begins, and the answer. Contexts are
filled with held-out English and repeat over consecutive items, so that they need to be read only once.
"""

import argparse
import json
import sys
from array import array
from pathlib import Path
from random import Random

import corpus
from document import Piece, join
from filler import Filler
from labels import MAX_HOPS
from tasks import FAMILIES, Fact
from tokenizer import Tokenizer

DEPTHS = (0.05, 0.25, 0.5, 0.75, 0.95)
ASKED = 5  # of the facts in a context, one near each depth
ROOM = 48  # tokens kept for question and answer


def tasks(length: int) -> dict[str, tuple[str, int, dict]]:
    """Name: family, facts in a context, arguments. One fact means that the depth changes from context to context."""
    made = {name: (name, 1, {}) for name in ("passkey", "needle")}
    for name, share in (
        ("pairs", 64),
        ("records", 64),
        ("story", 256),
        ("table", 128),
        ("code", 128),
        ("copy", 256),
    ):
        made[name] = (name, min(length // share, FAMILIES[name].LIMIT), {})
    for hops in range(1, MAX_HOPS + 1):
        made[f"variables-{hops}"] = ("variables", max(2, min(12, length // 128)), {"hops": hops})
    return made


class Maker:
    def __init__(self, tokenizer: Tokenizer, held_out: "array[int]"):
        self.tokenizer = tokenizer
        self.filler = Filler(tokenizer, held_out)

    def items(self, task: str, length: int, seed: int, index: int) -> list[dict]:
        rng = Random(f"{seed} {task} {length} {index}")
        family, count, arguments = tasks(length)[task]
        facts = FAMILIES[family].facts(rng, count, **arguments)
        depths = [DEPTHS[index % len(DEPTHS)]] if count == 1 else spread(rng, count)
        pieces = [piece for fact, depth in zip(facts, depths) for piece in self.statements(rng, fact, depth)]
        pieces.sort(key=lambda piece: piece.at)
        used = sum(len(piece.ids) for piece in pieces)
        document = join(rng, self.tokenizer, pieces, length - ROOM - 1 - used, self.filler)
        context = self.tokenizer.decode(document.ids)
        answers = {fact.asks[0].answer for fact in facts}
        chance = 1 / len(answers) if count > 1 else 0.0
        about = {"task": task, "length": length, "context": context, "chance": round(chance, 4)}
        made = []
        for i in nearest(depths, DEPTHS) if count > 1 else [0]:
            ask = facts[i].asks[0]
            made.append(
                {**about, "depth": round(depths[i], 3), "question": ask.question, "answer": ask.answer}
            )
        return made

    def statements(self, rng, fact: Fact, depth: float) -> list[Piece]:
        """The first at `depth`, further ones anywhere behind it."""
        later = sorted(depth + rng.random() * (0.99 - depth) for _ in fact.statements[1:])
        encoded = (self.tokenizer.encode(statement) for statement in fact.statements)
        return [Piece(at, ids, [0] * len(ids)) for at, ids in zip([depth, *later], encoded)]


def spread(rng, count: int) -> list[float]:
    """Depths all over the context; where they are few, the first ones are those asked for."""
    asked = list(DEPTHS[:count])
    return asked + [rng.random() * 0.98 for _ in range(count - len(asked))]


def nearest(depths: list[float], wanted: tuple) -> list[int]:
    return sorted({min(range(len(depths)), key=lambda i: abs(depths[i] - depth)) for depth in wanted})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("models/recall"), help="folder with held-out.json")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
    parser.add_argument("--tasks", default="", help="names, comma-separated; all of them if left out")
    parser.add_argument("--items", type=int, default=50, help="per task and length")
    parser.add_argument("--seed", type=int, default=1000)
    args = parser.parse_args()
    tokenizer = Tokenizer.load()
    corpus.load(args.work, tokenizer)
    texts = json.loads((args.work / "held-out.json").read_text())
    maker = Maker(tokenizer, array("H", tokenizer.encode("".join(texts))))
    for length in map(int, args.lengths.split(",")):
        for task in args.tasks.split(",") if args.tasks else tasks(length):
            made: list[dict] = []
            index = 0
            while len(made) < args.items:
                made += maker.items(task, length, args.seed, index)
                index += 1
            for item in made[: args.items]:
                sys.stdout.write(json.dumps(item) + "\n")


if __name__ == "__main__":
    main()
