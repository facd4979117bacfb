import { describe, expect, it } from 'vitest'
import { pythonWithTorch, torchPython } from './python.js'

/** Gradients of one batch by the number of lanes, as distances from those of one lane. */
const code = `
import json, torch
from batches import Batch
from config import PRESETS
from lanes import Lanes
from network import Network
torch.manual_seed(1)
network = Network(PRESETS["tiny"])
n, rows = 65, 5
part = lambda: Batch(
    torch.randint(0, 2000, (1, n + 1)), torch.arange(n).expand(1, n), torch.rand(1, n) < 0.5, torch.zeros(1, n)
)
parts = [(part(), 1 / rows) for _ in range(rows)]

def gradient(lanes):
    network.zero_grad()
    found = lanes.backward(parts)
    assert sorted(len(losses) for losses, _, _ in found) == sorted(int(b.counts.sum()) for b, _ in parts)
    return torch.cat([p.grad.flatten() for p in network.parameters()])

many = {count: Lanes(network, count) for count in (1, 2, 3)}
for again in range(2):
    one = gradient(many[1])
    print(json.dumps([((gradient(lanes) - one).norm() / one.norm()).item() for lanes in many.values()]))
    with torch.no_grad():  # lanes have to see a step of the optimizer
        for p in network.parameters():
            p.add_(0.1 * torch.randn_like(p))
`

describe.skipIf(!torchPython)('lanes', () => {
  it('add up to the gradient of one, also after a step', () => {
    const rows = pythonWithTorch('-c', code).trimEnd().split('\n')
    expect(rows).toHaveLength(2)
    for (const distance of rows.flatMap((row) => JSON.parse(row) as number[])) {
      expect(distance).toBeLessThan(1e-5)
    }
  })
})
