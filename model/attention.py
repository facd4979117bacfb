"""
Causal attention with grouped heads that never holds a whole score matrix: queries are taken in blocks, each with the
keys up to its end, and the backward pass makes the weights again. On CUDA torch's own fused kernel does the same.
"""

import torch
from torch.nn import functional as F


def block_size(n: int) -> int:
    """Short blocks waste less above the diagonal, long ones have the faster products."""
    return min(256, max(64, n // 4))


def causal_attention(q, k, v):
    """q [batch, heads, n, dim], k and v [batch, kv_heads, n, dim]; gives [batch, heads, n, dim]."""
    if q.is_cuda and hasattr(F, "scaled_dot_product_attention"):
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return BlockedAttention.apply(q, k, v)


class BlockedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        out = torch.empty_like(q)
        # log of the sum of exponentials per query: all that the backward pass needs to make the weights again
        lse = q.new_empty(q.shape[:3])
        for begin, end, scores in blocks(q, k):
            block_lse = scores.logsumexp(-1)
            weights = scores.sub_(block_lse.unsqueeze(-1)).exp_()
            fold = folded(v, end)
            out[:, :, begin:end] = unfolded(weights @ fold, q)
            lse[:, :, begin:end] = block_lse.view(q.shape[0], q.shape[1], -1)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, d_out):
        q, k, v, out, lse = ctx.saved_tensors
        d_q, d_k, d_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        delta = (d_out * out).sum(-1)
        scale = q.shape[-1] ** -0.5
        for begin, end, scores in blocks(q, k):
            d_rows = grouped(d_out, k, begin, end)
            weights = scores.sub_(rows(lse, k, begin, end)).exp_()
            d_v[:, :, :end] += weights.transpose(-1, -2) @ d_rows
            d_weights = d_rows @ folded(v, end).transpose(-1, -2)
            d_scores = d_weights.sub_(rows(delta, k, begin, end)).mul_(weights).mul_(scale)
            d_q[:, :, begin:end] = unfolded(d_scores @ folded(k, end), q)
            d_k[:, :, :end] += d_scores.transpose(-1, -2) @ grouped(q, k, begin, end)
        return d_q, d_k, d_v


def blocks(q, k):
    """Per block of queries: begin, end and masked scores [batch, kv_heads, group * rows, end]."""
    n = q.shape[2]
    scale = q.shape[-1] ** -0.5
    group = q.shape[1] // k.shape[1]
    block = block_size(n)
    for begin in range(0, n, block):
        end = min(n, begin + block)
        scores = grouped(q, k, begin, end) @ folded(k, end).transpose(-1, -2)
        scores.mul_(scale)
        size = end - begin
        mask = torch.ones(size, size, dtype=torch.bool, device=q.device).triu_(1).repeat(group, 1)
        scores[..., begin:].masked_fill_(mask, float("-inf"))
        yield begin, end, scores


def grouped(x, k, begin: int, end: int):
    """Rows of one KV head's queries together: [batch, kv_heads, group * rows, dim]."""
    return x[:, :, begin:end].reshape(x.shape[0], k.shape[1], -1, x.shape[-1])


def folded(x, end: int):
    return x[:, :, :end]


def unfolded(x, q):
    return x.reshape(q.shape[0], q.shape[1], -1, q.shape[-1])


def rows(x, k, begin: int, end: int):
    """Per-query numbers [batch, heads, n] as a column for the rows of `grouped`."""
    return x[:, :, begin:end].reshape(x.shape[0], k.shape[1], -1, 1)
