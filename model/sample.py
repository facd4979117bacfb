"""
Prints documents as the training sees them, with answers in brackets; or as JSON lines, with `text` and its `ids`. What
lies between the facts is noise here instead of English, so that it needs nothing but Python.
"""

import argparse
import json
from array import array
from random import Random

from corpus import Texts
from document import compose
from filler import Filler
from labels import LABELS
from tasks import FAMILIES
from tokenizer import Tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--length", type=int, default=300, help="tokens")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    tokenizer = Tokenizer.load()
    filler = Filler(tokenizer, Texts(array("H"), []))
    shares = dict.fromkeys(args.families.split(","), 1.0)
    for i in range(args.count):
        document = compose(Random(f"{args.seed} {i}"), tokenizer, args.length, shares, filler)
        text = tokenizer.decode(document.ids)
        if args.json:
            labels = [LABELS[kind] for kind in document.kinds]
            row = {"text": text, "ids": tokenizer.encode(text), "length": len(document.ids), "labels": labels}
            print(json.dumps(row))
        else:
            print(marked(tokenizer, document), end="\n----\n")


def marked(tokenizer: Tokenizer, document) -> str:
    parts, before = [], 0
    for token, kind in zip(document.ids, document.kinds):
        if bool(kind) != bool(before):
            parts.append("[" if kind else "]")
        parts.append(tokenizer.decode([token]))
        before = kind
    return "".join(parts)


if __name__ == "__main__":
    main()
