"""Models by their shape: what a prefill has to compute and to move, and the time below which it cannot get."""

from dataclasses import dataclass

from .contenders import QUERY, VOTES

TYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "q8_0": 34 / 32}


@dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    d: int
    ffn: int
    vocab: int
    tied: int

    def arguments(self):
        """For random-model."""
        return [str(x) for x in (self.layers, self.hidden, self.heads, self.kv_heads, self.d, self.ffn, self.vocab, self.tied)]

    def weights(self):
        """Of all layers, without the embedding."""
        return self.layers * self.hidden * (2 * self.heads * self.d + 2 * self.kv_heads * self.d + 3 * self.ffn)

    def kv_elements(self):
        """Of one position, all layers."""
        return 2 * self.layers * self.kv_heads * self.d


MODELS = {
    "qwen3-1.7b": Shape(layers=28, hidden=2048, heads=16, kv_heads=8, d=128, ffn=6144, vocab=151936, tied=1),
    "qwen3-8b": Shape(layers=36, hidden=4096, heads=32, kv_heads=8, d=128, ffn=12288, vocab=151936, tied=0),
    "tiny": Shape(layers=2, hidden=256, heads=4, kv_heads=2, d=64, ffn=512, vocab=1024, tied=0),
}


@dataclass(frozen=True)
class Peak:
    """What the device reaches: operations and bytes per second."""

    flop: float
    bytes: float


@dataclass(frozen=True)
class Work:
    flop: float
    bytes: float

    def __add__(self, other):
        return Work(self.flop + other.flop, self.bytes + other.bytes)

    def floor_ms(self, peak):
        return 1000 * max(self.flop / peak.flop, self.bytes / peak.bytes)


def linear_work(shape, n, contender, weight_type):
    """Products with weights, which every pass reads once; of the head, one row for the first token."""
    head = shape.hidden * shape.vocab
    return Work(
        flop=2 * (n * shape.weights() + head),
        bytes=(contender.passes(n) * shape.weights() + head) * TYPE_BYTES[weight_type],
    )


def attention_work(shape, n, contender):
    """Products of queries and keys that see each other, and the KV cache: written once, read as often as there are chunks."""
    products = reads = 0
    for begin, queries, is_sparse in contender.chunks(n):
        more_products, more_reads = chunk_work(shape, begin, queries, contender.policy if is_sparse else None)
        products += more_products
        reads += more_reads
    return Work(
        flop=2 * shape.d * shape.heads * shape.layers * products,
        bytes=(n + reads) * shape.kv_elements() * TYPE_BYTES[contender.cache],
    )


# of the policy `query`: queries of a head that share a set, keys that have a mean
BLOCK = 64
PAGE = 64


def chunk_work(shape, begin, queries, policy):
    """Of a chunk: products of a query head with keys and with values, and positions of the cache that it reads."""
    own = queries * (queries + 1) / 2
    if policy is None:
        return 2 * (own + queries * begin), queries + begin
    if policy is VOTES:  # the queries meet the keys a second time, for the votes
        seen = min(begin, policy.local + policy.heavy)
        return 3 * (own + queries * seen), queries + seen

    assert policy is QUERY
    local = min(begin, policy.local)
    candidates = begin - local
    heavy = min(candidates, policy.heavy)
    searched = candidates if candidates > heavy else 0
    search = queries * (searched + 3 * searched / PAGE)  # keys and means; these again, with their values, for the estimate
    group = shape.heads / shape.kv_heads  # each head has sets of its own, and all read one KV head
    sets = min(candidates, -(-queries // BLOCK) * group * heavy + searched / 2)  # of those searched the keys alone
    return 2 * (own + queries * (local + heavy)) + search, queries + local + sets
