"""The method of src/native/h2o/README.md in float64, written from that page alone. One KV head at a time: q [n, g, d] are
the chunk's queries times the scale of the logits, k and v [p + n, d] all keys and values up to its end."""

from typing import NamedTuple

import numpy as np


class Head(NamedTuple):
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    p: int  # the chunk begins here
    sinks: np.ndarray  # [g], -inf without
    cap: float  # 0 without


def capped(z, cap):
    return cap * np.tanh(z / cap) if cap else z


def attend(q, k, v, seen, sink, cap):
    """One softmax over the keys that are seen and a sink whose value is zero."""
    z = np.where(seen, capped(q @ k.T, cap), -np.inf)
    top = np.maximum(z.max(-1), sink)[:, None]
    weights = np.exp(z - top)
    return weights @ v / (weights.sum(-1, keepdims=True) + np.exp(sink - top))


def shares(z, sink=-np.inf):
    """The softmax of each row; a sink takes a share that nobody gets."""
    return np.exp(z - np.logaddexp(np.logaddexp.reduce(z, -1), sink)[:, None])


def best(scores, n):
    """The places of the n highest; ties go to the lower place, NaN counts as -inf."""
    return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")[:n]


# the policy `query`


def chunk_by_query(head, L, H, given):
    """What the chunk attends to finds, [n, g, d], and the own sets of every query head and block.
    `given(block, query head of the group)` is the set to use, None for the own."""
    q, k, v, p, sinks, cap = head
    n, g, _ = q.shape
    a = min(L, p)
    queries, keys = np.arange(n)[:, None], np.arange(p + n)[None]
    near = (keys >= p - a) & (keys <= p + queries)
    out, sets = np.empty_like(q), {}
    for h in range(g):
        z = np.where(near, capped(q[:, h] @ k.T, cap), -np.inf)
        lse = np.logaddexp(np.logaddexp.reduce(z, -1), sinks[h])
        for begin in range(0, n, 64):
            rows = slice(begin, min(begin + 64, n))
            block = begin // 64
            own = choose(q[rows, h], lse[rows], k, p, a, begin, H)
            used = given(block, h)
            seen = near[rows].copy()
            seen[:, own if used is None else used] = True
            out[rows, h] = attend(q[rows, h], k, v, seen, sinks[h], cap)
            sets[block, h] = own
    return out, sets


def choose(q, lse, k, p, a, begin, H):
    C = p - a
    if C <= H:
        return np.arange(C)
    s = q @ k[:C].T

    # by need
    landmarks = np.concatenate([np.arange(0)] + [at + landmarks_of(k[at : at + 256]) for at in range(0, p - 255, 256)])
    landmarks = landmarks[landmarks < C]
    needy = best(np.log(a + begin + np.arange(len(q)) + 1) - lse, 4)
    need = (s[needy][:, landmarks] - lse[needy, None]).max(0)
    taken = landmarks[best(need, min(64, H // 8))]

    # by all
    n_pages = C // 64
    found = q @ k[: n_pages * 64].reshape(n_pages, 64, -1).mean(1).T
    scores = (found - found.max(1, initial=-np.inf)[:, None]).max(0)
    scores[:1] = np.inf  # page 0
    searched = np.sort(best(scores, max(32, -(-H // 6))))[:, None] * 64 + np.arange(64)
    searched = np.concatenate([searched.ravel(), np.arange(n_pages * 64, C)])
    z = s[:, searched]
    starts = np.flatnonzero(np.diff(searched // 64, prepend=-1))  # of pages
    peaks = np.maximum.reduceat(z, starts, axis=1)
    scores = (z - np.logaddexp(lse, np.logaddexp.reduce(peaks, -1))[:, None]).max(0)
    left = ~np.isin(searched, taken)
    wanted = max(1, np.count_nonzero(scores[left] >= np.log(4 / max(C, 8192))))
    rest = searched[left][best(scores[left], min(H - len(taken), wanted))]
    return np.sort(np.concatenate([taken, rest]))


def landmarks_of(span):
    mean = span.mean(0)
    cosine = span @ mean / np.linalg.norm(span, axis=-1) / np.linalg.norm(mean)
    return np.sort(best(-cosine, 16))


# the policy `votes`


def memory_of(p, L, H, scores):
    """`scores`: those of the last memory set and the last sparse chunk, by position."""
    heavy = sorted(j for j in scores if j < p - L)
    heavy = [heavy[i] for i in best(np.array([scores[j] for j in heavy]), H)]
    local = range(max(0, p - L), p)
    others = (j for j in range(p - len(local)) if j not in heavy)
    fill = [j for j, _ in zip(others, range(H - len(heavy)))]
    return np.sort(np.array([*heavy, *fill, *local], dtype=int))


def chunk_by_votes(head, members):
    """What the chunk finds, and what its queries vote: for its own positions, and for the members."""
    q, k, v, p, sinks, cap = head
    n, g, _ = q.shape
    causal = np.tri(n, dtype=bool)
    own, inter = np.zeros(n), np.zeros(len(members))
    out = np.empty_like(q)
    for h in range(g):
        z = np.where(causal, capped(q[:, h] @ k[p:].T, cap), -np.inf)
        own += shares(z, sinks[h]).sum(0)
        if len(members):
            inter += shares(capped(q[:, h] @ k[members].T, cap)).sum(0)
        keys = np.concatenate([members, np.arange(p, p + n)])
        seen = np.concatenate([np.ones((n, len(members)), dtype=bool), causal], axis=1)
        out[:, h] = attend(q[:, h], k[keys], v[keys], seen, sinks[h], cap)
    return out, own, inter
