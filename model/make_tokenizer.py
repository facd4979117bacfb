"""
Learns the merges from natural English and from generated text, and writes merges.txt. Run once; the file is committed,
because the model belongs to it.
"""

import argparse
from collections import Counter, defaultdict
from random import Random

import english
from tasks import FAMILIES
from tokenizer import Tokenizer, pieces

# generated text counts as much as this many characters of English
GENERATED_SHARE = 0.5


def generated(rng, size: int) -> str:
    parts: list[str] = []
    total = 0
    while total < size:
        for family in FAMILIES.values():
            for fact in family.facts(rng, min(family.LIMIT, 20)):
                text = "".join(fact.statements) + "".join(a.question + a.answer + a.after for a in fact.asks)
                parts.append(text)
                total += len(text)
    return "".join(parts)


def learn(counts: Counter, size: int) -> list[tuple[int, int]]:
    """Greedy BPE. Of equally frequent pairs the one with the lowest ids is merged first."""
    words = [(list(piece.encode("ascii")), n) for piece, n in sorted(counts.items())]
    texts = {bytes([b]) for b in range(256)}
    tokens = [bytes([b]) for b in range(256)]
    pairs: Counter = Counter()
    where = defaultdict(set)
    for w, (ids, n) in enumerate(words):
        for pair in zip(ids, ids[1:]):
            pairs[pair] += n
            where[pair].add(w)
    merges = []
    while len(merges) < size:
        pair = max(pairs, key=lambda p: (pairs[p], -p[0], -p[1]))
        joined = tokens[pair[0]] + tokens[pair[1]]
        if joined in texts:  # a token has one spelling only
            del pairs[pair]
            continue
        texts.add(joined)
        tokens.append(joined)
        merges.append(pair)
        new = len(tokens) - 1
        for w in where.pop(pair):
            ids, n = words[w]
            for old in zip(ids, ids[1:]):
                pairs[old] -= n
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == pair:
                    ids[i : i + 2] = [new]
                i += 1
            for fresh in zip(ids, ids[1:]):
                pairs[fresh] += n
                where[fresh].add(w)
        pairs.pop(pair, None)
    return merges


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048, help="tokens in all")
    args = parser.parse_args()
    training, _ = english.split(english.documents())
    natural = "".join(training)
    counts = Counter(pieces(natural))
    made = generated(Random("tokenizer"), int(GENERATED_SHARE * len(natural)))
    counts.update(pieces(made))
    frequent = Counter({piece: n for piece, n in counts.items() if n > 4})
    tokenizer = Tokenizer(learn(frequent, args.size - 258))
    tokenizer.save()
    for name, text in ("English", natural[:1_000_000]), ("generated", made[:1_000_000]):
        print(f"{name}: {len(text) / len(tokenizer.encode(text)):.2f} characters per token")


if __name__ == "__main__":
    main()
