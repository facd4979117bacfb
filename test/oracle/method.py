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
    return mix(np.where(seen, capped(q @ k.T, cap), -np.inf), v, sink)


def mix(z, v, sink):
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


def chunk_by_query(head, L, H, order, given):
    """What the chunk attends to finds, [n, g, d], and the own sets of every query head and block. `order(query head of the
    group)` is the order to cut the blocks from, `given(block, query head)` the set to use; None for the own."""
    q, k, v, p, sinks, cap = head
    n, g, _ = q.shape
    a = min(L, p)
    queries, keys = np.arange(n)[:, None], np.arange(p + n)[None]
    near = (keys >= p - a) & (keys <= p + queries)
    out, sets = np.empty_like(q), {}
    for h in range(g):
        z = np.where(near, capped(q[:, h] @ k.T, cap), -np.inf)
        lse = np.logaddexp(np.logaddexp.reduce(z, -1), sinks[h])
        places = order(h)
        if places is None:
            places = order_of(q[:, h])
        for block in range(-(-n // 64)):
            rows = places[block * 64 : (block + 1) * 64]
            own = choose(q[rows, h], lse[rows], k, p - a, H)
            used = given(block, h)
            used = own if used is None else used
            seen = near[rows]
            seen[:, used] = True
            page_keys, page_values, left = left_out(k, v, p - a, used)
            exact = np.where(seen, capped(q[rows, h] @ k.T, cap), -np.inf)
            estimated = capped(q[rows, h] @ page_keys.T, cap) + np.log(left)
            logits = np.concatenate([exact, estimated], axis=1)
            out[rows, h] = mix(logits, np.concatenate([v, page_values]), sinks[h])
            sets[block, h] = own
    return out, sets


def order_of(q):
    """Which query is at each place. A scale that is a power of two changes nothing here."""
    finite = np.where(np.isfinite(q), q, 0)
    _, e = np.frexp(np.abs(finite).max())
    r = np.clip(np.rint(np.ldexp(finite, 7 - e)), -127, 127).astype(int)
    done, waiting = [], [np.arange(len(q))]
    while waiting:
        part = waiting.pop()
        n = len(part)
        if n <= 64:
            done.append(part)
            continue
        x = r[part]
        c = np.argmax(n * (x**2).sum(0) - x.sum(0) ** 2)
        mean = int(np.fix(x[:, c].sum() / n))
        u = (x[:, c] - mean) @ x
        u >>= max(0, int(np.abs(u).max()).bit_length() - 7)
        by = part[np.argsort(x @ u, kind="stable")]
        first = 64 * -(-n // 128)
        waiting += [np.sort(by[first:]), np.sort(by[:first])]  # the last is the next
    return np.concatenate(done)


def choose(q, lse, k, C, H):
    if C <= H or H == 0:
        return np.arange(min(C, H))
    s = q @ k[:C].T
    means = page_means(k, C)[1:]
    terms = np.concatenate([lse[:, None], s[:, :64], np.log(64) + q @ means.T], axis=1)
    t = np.logaddexp.reduce(np.where(np.isnan(terms), -np.inf, terms), -1)
    scores = np.fmax.reduce(s - t[:, None])  # without NaN
    wanted = np.flatnonzero(scores[1:] >= np.log(4 / max(C, 16384))) + 1
    return np.sort(np.concatenate([[0], wanted[best(scores[wanted], H - 1)]]))


def page_means(x, C):
    return x[: C // 64 * 64].reshape(C // 64, 64, x.shape[-1]).mean(1)


def left_out(k, v, C, members):
    """The estimates beside a set: keys, values, and of how many keys each is; none where there is no set."""
    left = 64 - np.bincount(members // 64, minlength=C // 64)[: C // 64]
    left[:1] = 0  # the first page has none
    some = np.flatnonzero(left if len(members) else [])
    return page_means(k, C)[some], page_means(v, C)[some], left[some]


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
