"""Qwen3 in plain PyTorch: RMSNorm, norms on q and k, RoPE on halves, grouped heads, SwiGLU, tied embedding."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from attention import causal_attention
from config import ModelConfig


# logits of normed q and k are at most sqrt(head_dim) at a gain of 1: too little to pick one key of thousands
QK_GAIN = 1.4


class RmsNorm(nn.Module):
    def __init__(self, size: int, eps: float, gain: float = 1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), gain))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.eps) * self.weight
        return y.type_as(x)


class Attention(nn.Module):
    def __init__(self, c: ModelConfig):
        super().__init__()
        self.c = c
        self.q = nn.Linear(c.hidden, c.heads * c.head_dim, bias=False)
        self.k = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.v = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.out = nn.Linear(c.heads * c.head_dim, c.hidden, bias=False)
        self.q_norm = RmsNorm(c.head_dim, c.eps, QK_GAIN)
        self.k_norm = RmsNorm(c.head_dim, c.eps, QK_GAIN)

    def forward(self, x, turns):
        batch, n, _ = x.shape
        heads = lambda y: y.view(batch, n, -1, self.c.head_dim).transpose(1, 2)  # noqa: E731
        q = rotate(self.q_norm(heads(self.q(x))), turns)
        k = rotate(self.k_norm(heads(self.k(x))), turns)
        y = causal_attention(q, k, heads(self.v(x)))
        return self.out(y.transpose(1, 2).reshape(batch, n, -1))


class FeedForward(nn.Module):
    def __init__(self, c: ModelConfig):
        super().__init__()
        self.gate = nn.Linear(c.hidden, c.ffn, bias=False)
        self.up = nn.Linear(c.hidden, c.ffn, bias=False)
        self.down = nn.Linear(c.ffn, c.hidden, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, c: ModelConfig):
        super().__init__()
        self.attn_norm = RmsNorm(c.hidden, c.eps)
        self.attn = Attention(c)
        self.ffn_norm = RmsNorm(c.hidden, c.eps)
        self.ffn = FeedForward(c)

    def forward(self, x, turns):
        x = x + self.attn(self.attn_norm(x), turns)
        return x + self.ffn(self.ffn_norm(x))


class Network(nn.Module):
    def __init__(self, c: ModelConfig):
        super().__init__()
        self.c = c
        self.embedding = nn.Embedding(c.vocab, c.hidden)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.norm = RmsNorm(c.hidden, c.eps)
        self.reset()

    def reset(self) -> None:
        """Outputs of the blocks start small, so that the depth does not add up."""
        nn.init.normal_(self.embedding.weight, std=self.c.hidden**-0.5)
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "embedding" not in name:
                std = weight.shape[1] ** -0.5
                if name.endswith(("out.weight", "down.weight")):
                    std /= math.sqrt(2 * self.c.layers)
                nn.init.normal_(weight, std=std)

    def hidden(self, ids, positions):
        """ids and positions [batch, n]; gives the normed states [batch, n, hidden]."""
        turns = angles(self.c, positions)
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, turns)
        return self.norm(x)

    def logits(self, states):
        return states @ self.embedding.weight.t()

    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        return self.logits(self.hidden(ids, positions))


def angles(c: ModelConfig, positions):
    """Cosine and sine, [batch, 1, n, head_dim / 2] each."""
    half = torch.arange(0, c.head_dim, 2, device=positions.device, dtype=torch.float32)
    frequencies = c.rope_base ** (-half / c.head_dim)
    angle = positions.float().unsqueeze(-1) * frequencies
    return angle.cos().unsqueeze(1), angle.sin().unsqueeze(1)


def rotate(x, turns):
    """Pairs are (i, i + dim / 2), as llama.cpp's NEOX rope has them."""
    cos, sin = (t.to(x.dtype) for t in turns)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
