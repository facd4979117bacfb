"""Who is measured: stock llama.cpp and H2O in the settings that matter."""

from dataclasses import dataclass

S = 1024


@dataclass(frozen=True)
class Policy:
    """Who chooses the memory of a chunk, with sets that do not grow: tokens of Local and Heavy, and of the dense tail."""

    name: str
    local: int
    heavy: int
    tail: int

    def flags(self):
        return ["--h2o-select", self.name, "--h2o-local", str(self.local), "--h2o-heavy", str(self.heavy)]


QUERY = Policy("query", local=128, heavy=640, tail=64)
VOTES = Policy("votes", local=256, heavy=256, tail=0)
POLICIES = [QUERY, VOTES]


@dataclass(frozen=True)
class Contender:
    name: str
    kind: str  # "on" and "off": stock with and without flash attention; "dense": our build with H2O off; "h2o"
    policy: Policy = None  # of H2O
    batch: int = 4096
    ubatch: int = S
    cache: str = "f16"
    lengths: range = range(1, 1 << 30)  # of the prompts that it is measured on

    @property
    def program(self):
        return "stock-bench" if self.kind in ("on", "off") else "h2o-bench"

    def flags(self, n):
        """For a prompt of n tokens."""
        flags = ["-fa", "off" if self.kind == "off" else "on", "-b", str(self.batch), "-ub", str(self.ubatch)]
        if self.cache != "f16":
            flags += ["-ctk", self.cache, "-ctv", self.cache]
        if self.policy:
            flags += self.policy.flags()
            if self.policy.tail:
                flags += ["--calls", ",".join(map(str, self.calls(n)))]
        elif self.kind == "dense":
            flags += ["--h2o-local", "0", "--h2o-heavy", "0"]
        return flags

    def calls(self, n):
        """Tokens of the calls of a prefill, the dense tail as one of its own."""
        tail = min(self.policy.tail, n) if self.policy else 0
        calls = [self.batch] * ((n - tail) // self.batch) + [(n - tail) % self.batch, tail]
        return [call for call in calls if call > 0]

    def sparse_calls(self, n, most=None):
        """Calls of a prefill that hold more than a chunk; only of its first tokens, if `most` says how many."""
        left = n if most is None else min(n, most)
        sparse = 0
        for call in self.calls(n) if self.policy else []:
            sparse += min(call, left) > S
            left -= min(call, left)
        return sparse

    def passes(self, n):
        """Over the weights: stock makes one per chunk, H2O one per call."""
        return len(self.calls(n)) if self.policy else -(-n // self.ubatch)

    def chunks(self, n):
        """(first position, queries, is sparse) of each."""
        begin = 0
        for call in self.calls(n):
            for at in range(begin, begin + call, self.ubatch):
                yield at, min(self.ubatch, begin + call - at), bool(self.policy) and call > S
            begin += call


# stock and H2O by turns
CONTENDERS = {
    contender.name: contender
    for contender in [
        Contender("stock -fa on -ub 1024", "on"),
        Contender("query -b 4096", "h2o", QUERY),
        Contender("votes -b 4096", "h2o", VOTES),
        Contender("stock -fa on -ub 4096", "on", ubatch=4096),
        Contender("query -b 16384", "h2o", QUERY, batch=16384, lengths=range(4097, 1 << 30)),  # else as -b 4096
        Contender("votes -b 16384", "h2o", VOTES, batch=16384, lengths=range(4097, 1 << 30)),
        Contender("stock -fa off -ub 1024", "off", lengths=range(1, 16385)),  # far too slow beyond
        Contender("dense (H2O off)", "dense", ubatch=4096),
        Contender("query -b 4096 -ctk q8_0", "h2o", QUERY, cache="q8_0"),
    ]
}


def default_contenders(has_stock):
    kinds = ("on", "off", "h2o") if has_stock else ("dense", "h2o")
    return [c for c in CONTENDERS.values() if c.kind in kinds and c.cache == "f16"]


def profiled_contenders(has_stock):
    names = ["stock -fa on -ub 4096" if has_stock else "dense (H2O off)", "query -b 4096", "votes -b 4096"]
    return [CONTENDERS[name] for name in names]
