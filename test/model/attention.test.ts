import { describe, expect, it } from 'vitest'
import { pythonWithTorch, torchPython } from './python.js'

/** Relative errors of output and gradients, per shape, against a softmax over the whole matrix in float64. */
const code = `
import json, torch
from attention import KEYS, QUERIES, TiledAttention
torch.manual_seed(1)
for batch, heads, kv_heads, n, dim in [
    (1, 2, 2, 3, 32),
    (3, 6, 2, 77, 32),
    (2, 4, 2, QUERIES, 32),
    (2, 4, 1, QUERIES + KEYS, 64),
    (1, 4, 2, 2 * KEYS + QUERIES + 1, 32),
]:
    exact = [torch.randn(batch, h, n, dim, dtype=torch.float64, requires_grad=True) for h in (heads, kv_heads, kv_heads)]
    tiled = [x.detach().float().requires_grad_() for x in exact]
    out = TiledAttention.apply(*tiled)
    q, k, v = exact[0], *(x.repeat_interleave(heads // kv_heads, 1) for x in exact[1:])
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    expected = (q @ k.transpose(-1, -2)).masked_fill(later, float("-inf")).softmax(-1) @ v
    weight = torch.randn_like(expected)
    (expected * weight).sum().backward()
    (out * weight.float()).sum().backward()
    pairs = [(out, expected), *((a.grad, b.grad) for a, b in zip(tiled, exact))]
    print(json.dumps([((a - b).norm() / b.norm()).item() for a, b in pairs]))
`

describe.skipIf(!torchPython)('tiled attention', () => {
  it('is a masked softmax, forward and backward, wherever tiles end', () => {
    const rows = pythonWithTorch('-c', code).trimEnd().split('\n')
    expect(rows).toHaveLength(5)
    for (const error of rows.flatMap((row) => JSON.parse(row) as number[])) expect(error).toBeLessThan(1e-4)
  })
})
