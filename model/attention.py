"""
Causal attention with grouped heads whose scores never leave the cache: queries are taken in blocks, and each block reads
the keys in tiles, its softmax online; the backward pass makes the weights again. On CUDA torch's own fused kernel does
the same.
"""

import torch
from torch.nn import functional as F

# rows and columns of a tile: its scores, of all heads, stay in a core's L2
QUERIES = 256
KEYS = 512


def causal_attention(q, k, v):
    """q [batch, heads, n, dim], k and v [batch, kv_heads, n, dim]; gives [batch, heads, n, dim]."""
    if q.is_cuda and hasattr(F, "scaled_dot_product_attention"):
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return TiledAttention.apply(q * q.shape[-1] ** -0.5, k, v)


class TiledAttention(torch.autograd.Function):
    """q comes scaled."""

    @staticmethod
    def forward(ctx, q, k, v):
        out = torch.empty_like(q)
        # log of the sum of exponentials per query: all that the backward pass needs to make the weights again
        lse = q.new_empty(q.shape[:3])
        kv_heads = k.shape[1]
        for block in blocks(q.shape[2]):
            rows = grouped(q, kv_heads, block)
            best, total, mixed = None, 0, 0
            for tile in tiles(block):
                scores = scores_of(rows, k, block, tile)
                highest = scores.amax(-1, keepdim=True)
                if best is not None:
                    highest = torch.maximum(best, highest)
                    shrink = (best - highest).exp_()
                    total, mixed = total * shrink, mixed * shrink
                weights = scores.sub_(highest).exp_()
                total = total + weights.sum(-1, keepdim=True)
                mixed = mixed + weights @ v[:, :, tile]
                best = highest
            out[:, :, block] = ungrouped(mixed / total, q)
            lse[:, :, block] = ungrouped(best + total.log(), q).squeeze(-1)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, d_out):
        q, k, v, out, lse = ctx.saved_tensors
        d_q, d_k, d_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        delta = (d_out * out).sum(-1)
        kv_heads = k.shape[1]
        for block in blocks(q.shape[2]):
            rows, d_rows, lse_rows, delta_rows = (grouped(x, kv_heads, block) for x in (q, d_out, lse, delta))
            d_block = 0
            for tile in tiles(block):
                weights = scores_of(rows, k, block, tile).sub_(lse_rows).exp_()
                d_v[:, :, tile] += weights.transpose(-1, -2) @ d_rows
                d_weights = d_rows @ v[:, :, tile].transpose(-1, -2)
                d_scores = d_weights.sub_(delta_rows).mul_(weights)
                d_block = d_block + d_scores @ k[:, :, tile]
                d_k[:, :, tile] += d_scores.transpose(-1, -2) @ rows
            d_q[:, :, block] = ungrouped(d_block, q)
        return d_q, d_k, d_v


def blocks(n: int):
    """Queries that are taken together."""
    return (slice(begin, min(n, begin + QUERIES)) for begin in range(0, n, QUERIES))


def tiles(block: slice):
    """The keys before the block, then those of the block itself."""
    for begin in range(0, block.start, KEYS):
        yield slice(begin, min(block.start, begin + KEYS))
    yield block


def scores_of(rows, k, block: slice, tile: slice):
    scores = rows @ k[:, :, tile].transpose(-1, -2)
    if tile == block:
        size = block.stop - block.start
        later = torch.ones(size, size, dtype=torch.bool, device=k.device).triu_(1)
        scores.masked_fill_(later.repeat(rows.shape[2] // size, 1), float("-inf"))
    return scores


def grouped(x, kv_heads: int, block: slice):
    """What belongs to one KV head's queries together: [batch, kv_heads, group * rows, dim], or 1 for one number each."""
    part = x[:, :, block]
    return part.reshape(x.shape[0], kv_heads, -1, x.shape[-1] if x.dim() == 4 else 1)


def ungrouped(x, q):
    return x.reshape(q.shape[0], q.shape[1], -1, x.shape[-1])
