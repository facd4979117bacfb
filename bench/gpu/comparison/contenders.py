"""Who is measured: stock llama.cpp and H2O in the settings that matter."""

from dataclasses import dataclass

S, LOCAL, HEAVY = 1024, 256, 256


@dataclass(frozen=True)
class Contender:
    name: str
    kind: str  # "on" and "off": stock with and without flash attention; "dense": our build with H2O off; "h2o"
    batch: int = 4096
    ubatch: int = S
    cache: str = "f16"
    lengths: range = range(1, 1 << 30)  # of the prompts that it is measured on

    @property
    def program(self):
        return "stock-bench" if self.kind in ("on", "off") else "h2o-bench"

    @property
    def is_h2o(self):
        return self.kind == "h2o"

    @property
    def products(self):
        """Of the queries with as many vectors: keys and values; for the votes the keys again."""
        return 3 if self.is_h2o else 2

    def flags(self):
        flags = ["-fa", "off" if self.kind == "off" else "on", "-b", str(self.batch), "-ub", str(self.ubatch)]
        if self.cache != "f16":
            flags += ["-ctk", self.cache, "-ctv", self.cache]
        if self.is_h2o:
            flags += ["--h2o-local", str(LOCAL), "--h2o-heavy", str(HEAVY)]
        return flags

    def passes(self, n):
        """Over the weights: stock makes one per chunk, H2O one per call."""
        return -(-n // (self.batch if self.is_h2o else self.ubatch))

    def blocks(self, n):
        """Of queries that see one another: (how many, how many keys before them they see)."""
        for begin in range(0, n, self.ubatch):
            yield min(self.ubatch, n - begin), min(begin, LOCAL + HEAVY) if self.is_h2o else begin

    def sparse_calls(self, n):
        """Calls of a prefill that hold more than a chunk."""
        return n // self.batch + (n % self.batch > S) if self.is_h2o else 0


# stock and H2O by turns
CONTENDERS = {
    contender.name: contender
    for contender in [
        Contender("stock -fa on -ub 1024", "on"),
        Contender("h2o -b 4096", "h2o"),
        Contender("stock -fa on -ub 4096", "on", ubatch=4096),
        Contender("h2o -b 16384", "h2o", batch=16384, lengths=range(4097, 1 << 30)),  # else the same as -b 4096
        Contender("stock -fa off -ub 1024", "off", lengths=range(1, 16385)),  # far too slow beyond
        Contender("dense (H2O off)", "dense", ubatch=4096),
        Contender("h2o -b 4096 -ctk q8_0", "h2o", cache="q8_0"),
    ]
}


def default_contenders(has_stock):
    names = ["h2o -b 4096", "h2o -b 16384"]
    if not has_stock:
        return [CONTENDERS[name] for name in ["dense (H2O off)", *names]]
    return [c for c in CONTENDERS.values() if c.name in names or c.kind in ("on", "off")]


def profiled_contenders(has_stock):
    return [CONTENDERS["stock -fa on -ub 4096" if has_stock else "dense (H2O off)"], CONTENDERS["h2o -b 4096"]]
