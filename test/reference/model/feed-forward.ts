// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The second half of a layer: down(activation(gate) * up), or a mixture of such experts as gpt-oss has it.

import type { Hparams, Tensor } from './model.js'
import { gelu, linear, silu, softmax } from './ops.js'

type Named = (name: string) => Tensor

export function feedForward(h: Hparams, tensor: Named, x: Float64Array): Float64Array {
  const activation = h.activation === 'gelu' ? gelu : silu
  const gate = linear(tensor('ffn_gate.weight'), x)
  const up = linear(tensor('ffn_up.weight'), x)
  return linear(
    tensor('ffn_down.weight'),
    gate.map((g, i) => activation(g) * up[i]!),
  )
}

/** The experts of the highest router logits, weighted by the softmax over these. */
export function experts(h: Hparams, tensor: Named, x: Float64Array): Float64Array {
  const route = linear(tensor('ffn_gate_inp.weight'), x, tensor('ffn_gate_inp.bias'))
  const nExpert = route.length / (x.length / h.nEmbd)
  const out = new Float64Array(x.length)
  for (let i = 0; i * h.nEmbd < x.length; i++) {
    const logits = [...route.subarray(i * nExpert, (i + 1) * nExpert)]
    const used = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, h.nExpertUsed)
    const weights = softmax(used.map((e) => logits[e]!))
    const row = x.subarray(i * h.nEmbd, (i + 1) * h.nEmbd)
    for (const [j, e] of used.entries()) {
      const y = expert(tensor, e, row)
      for (let k = 0; k < h.nEmbd; k++) out[i * h.nEmbd + k]! += weights[j]! * y[k]!
    }
  }
  return out
}

function expert(tensor: Named, e: number, x: Float64Array): Float64Array {
  const apply = (name: string, y: Float64Array) =>
    linear(slice(tensor(`${name}.weight`), e), y, slice(tensor(`${name}.bias`), e))
  const gate = apply('ffn_gate_exps', x)
  const up = apply('ffn_up_exps', x)
  const gated = gate.map((g, i) => {
    const limited = Math.min(g, 7)
    return (limited / (1 + Math.exp(-1.702 * limited))) * (Math.max(-7, Math.min(up[i]!, 7)) + 1)
  })
  return apply('ffn_down_exps', gated)
}

/** The e-th of what is stacked along the last dimension. */
function slice({ shape, data }: Tensor, e: number): Tensor {
  const size = data.length / shape.at(-1)!
  return { shape: shape.slice(0, -1), data: data.subarray(e * size, (e + 1) * size) }
}
