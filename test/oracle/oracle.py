"""A session of the engine again, in float64: a job as JSON on stdin, what was compared as JSON on stdout (oracle.test.ts).
Calls use the engine's sets where the job has them; the own ones are chosen beside them and counted."""

import json
import sys
from base64 import b64decode
from pathlib import Path

import numpy as np

import gguf_file
from method import Head, attend, chunk_by_query, chunk_by_votes, memory_of
from network import Network


class Session:
    def __init__(self, network, S, L, H, select):
        self.network, self.S, self.L, self.H, self.select = network, S, L, H, select
        self.position = 0
        self.keys, self.values = {}, {}  # layer: [position, KV head, d]
        self.scores = {}  # by votes, of layer and KV head: ({position: score} of the memory set, of the last chunk)
        self.before = {}  # layer: what a short convolution still sees

    def cut(self, p):
        self.position = p
        for cache in (self.keys, self.values):
            cache.update({layer: rows[:p] for layer, rows in cache.items()})
        for parts in self.scores.values():
            for part in parts:
                for j in [j for j in part if j >= p]:
                    del part[j]

    def call(self, tokens, is_sparse, trace):
        """The logits. Beside the engine's sets: their members, those that the own sets have, the worst error of scores."""
        self.base, self.is_sparse, self.sets = self.position, is_sparse, {}
        self.engine = {(entry["layer"], entry["pos"]): entry for entry in trace}
        self.n_members = self.n_alike = 0
        self.worst = 0.0
        logits = self.network.forward(tokens, self.base, self.store, self.attend, self.convolve)
        self.position += len(tokens)
        return logits

    def store(self, layer, k, v):
        for cache, rows in ((self.keys, k), (self.values, v)):
            cache[layer] = np.concatenate([cache[layer], rows]) if layer in cache else rows

    def convolve(self, layer, bx):
        taps = self.network.tensors[f"blk.{layer}.shortconv.conv.weight"].shape[-1]
        before = self.before.get(layer, np.zeros((taps - 1, bx.shape[-1])))
        self.before[layer] = np.concatenate([before, bx])[1 - taps :]
        return before

    def attend(self, layer, q):
        window = self.network.window(layer)
        n, n_head, _ = q.shape
        source = self.network.source(layer)
        keys, values = self.keys[source], self.values[source]
        g = n_head // keys.shape[1]
        sinks = self.network.tensors.get(f"blk.{layer}.attn_sinks.weight", np.full(n_head, -np.inf))
        out = np.empty_like(q)
        is_dense = window or not self.is_sparse
        for kv in range(keys.shape[1]):
            group = slice(kv * g, (kv + 1) * g)
            for begin in range(0, n, n if is_dense else self.S):
                rows = slice(begin, n if is_dense else begin + self.S)
                p = self.base + begin
                part = q[rows, group]
                end = p + len(part)
                head = Head(part, keys[:end, kv], values[:end, kv], p, sinks[group], self.network.cap)
                step = self.dense if is_dense else self.by_query if self.select == "query" else self.by_votes
                out[rows, group] = step(layer, kv, head)
        return out

    def dense(self, layer, kv, head):
        i, j = head.p + np.arange(len(head.q))[:, None], np.arange(len(head.k))[None]
        seen = (j <= i) & (i - j < (self.network.window(layer) or np.inf))
        found = [attend(head.q[:, h], head.k, head.v, seen, sink, head.cap) for h, sink in enumerate(head.sinks)]
        return np.stack(found, axis=1)

    def by_query(self, layer, kv, head):
        g = head.q.shape[1]

        def given(block, h):
            return self.engine_set(layer, head.p, block, kv * g + h)

        def order(h):
            return self.engine_order(layer, head.p, len(head.q), kv * g + h)

        out, sets = chunk_by_query(head, self.L, self.H, order, given)
        for (block, h), own in sets.items():
            self.count(own, given(block, h))
        return out

    def by_votes(self, layer, kv, head):
        source = self.network.source(layer)
        if source != layer:
            return chunk_by_votes(head, self.sets[source, kv, head.p])[0]
        memory, chunk = self.scores.get((layer, kv), ({}, {}))
        own = memory_of(head.p, self.L, self.H, memory | chunk)
        engine = self.engine_set(layer, head.p, 0, kv)
        members = own if engine is None else engine
        self.count(own, engine)
        self.sets[layer, kv, head.p] = members
        out, votes, inter = chunk_by_votes(head, members)
        kept = {j: (memory | chunk).get(j, 0) + vote for j, vote in zip(members.tolist(), inter)}
        self.scores[layer, kv] = kept, {head.p + i: vote for i, vote in enumerate(votes)}
        if engine is not None:
            entry = self.engine[layer, head.p]
            for name, scores in (("memScore", [*kept.values()]), ("chunkScore", votes)):
                n = len(scores)
                error = np.abs(np.array(entry[name][kv * n : (kv + 1) * n]) - scores) / np.maximum(1, scores)
                self.worst = max(self.worst, error.max(initial=0))
        return out

    def engine_set(self, layer, p, block, head):
        """None: the job does not say."""
        if not self.engine:
            return None
        entry = self.engine[layer, p]
        n = entry["nMem"]
        at = (block * entry["nHeads"] + head) * n
        return np.unique(np.array(entry["memPos"][at : at + n], dtype=int))  # a smaller set ends with repeats

    def engine_order(self, layer, p, n, head):
        """Which query of the n is at each place; None: the job does not say, or there are no sets."""
        order = self.engine[layer, p]["order"] if self.engine else []
        return np.array(order[head * n : (head + 1) * n], dtype=int) if order else None

    def count(self, own, engine):
        if engine is not None:
            self.n_members += len(engine) + abs(len(own) - len(engine))
            self.n_alike += len(np.intersect1d(own, engine))


def main():
    job = json.load(sys.stdin)
    network = Network(gguf_file.read(Path(job["model"])), job["config"])
    session = Session(network, *(job[name] for name in ("S", "L", "H", "select")))
    results = []
    for step in job["steps"]:
        if "cut" in step:
            session.cut(step["cut"])
            continue
        logits = session.call(step["tokens"], step["isSparse"], step["trace"])
        if "logits" in step:
            engine = np.frombuffer(b64decode(step["logits"]), dtype=np.float32).reshape(logits.shape)
            nmse = float(((engine - logits) ** 2).sum() / (logits**2).sum())
            results.append({"nmse": nmse, "members": session.n_members, "alike": session.n_alike, "worst": session.worst})
    json.dump(results, sys.stdout)


main()
