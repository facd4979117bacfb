// The healthy LoRA adapter of the kinds that need one, for a llama model of the model maker.

import { Random } from '../../dist/model-maker/index.js'

const RANK = 4

/** What edits work on, as fuzzModel() has it: low ranks for the queries and the way down of the first layer. */
export function fuzzAdapter(hidden) {
  const pairs = [
    ['blk.0.attn_q.weight', hidden, hidden],
    ['blk.0.ffn_down.weight', 2 * hidden, hidden],
  ]
  const shapes = pairs.flatMap(([name, n, m]) => [
    [`${name}.lora_a`, [n, RANK]],
    [`${name}.lora_b`, [RANK, m]],
  ])
  let offset = 0
  const tensors = shapes.map(([name, ne]) => {
    const info = { name, ne, type: 0, offset }
    offset += ne[0] * ne[1] * 4 // of 32 bytes each, as all extents are of 4
    return info
  })
  const random = new Random(1, 'adapter')
  const data = Float32Array.from({ length: offset / 4 }, () => (random.uniform() - 0.5) * 0.4)
  const entries = new Map([
    ['general.type', { type: 'string', value: 'adapter' }],
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['general.tags', { type: 'string[]', value: ['lora'] }],
    ['adapter.type', { type: 'string', value: 'lora' }],
    ['adapter.lora.alpha', { type: 'f32', value: 8 }],
  ])
  return { entries, tensors, data: Buffer.from(data.buffer) }
}
