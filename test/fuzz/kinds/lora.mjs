// The mutator of LoRA adapters: keys and bytes as in model files, and shapes, names and types of their tensors. Some
// are applied beside one that is whole.

import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fuzzAdapter } from '../adapter.mjs'
import { oddFloat } from '../draw.mjs'
import { fuzzModel, mutated } from '../gguf-file.mjs'
import { drawUse, useModel } from '../use-model.mjs'
import { edit } from './gguf.mjs'

const HIDDEN = 64
const WHOLE = join(tmpdir(), `h2o-fuzz-whole-${process.pid}.lora`)
const MUTANT = join(tmpdir(), `h2o-fuzz-mutant-${process.pid}.lora`)
const BASES = ['attn_q', 'attn_k', 'attn_output', 'ffn_up', 'attn_norm', 'x'].map(
  (name) => `blk.0.${name}.weight`,
)
BASES.push(
  'token_embd.weight',
  'output.weight',
  'output_norm.weight',
  'blk.1.attn_q.weight',
  'blk.9.attn_q.weight',
  '',
)

const adapter = fuzzAdapter(HIDDEN)
let model

export function recipe(draw) {
  const edits = draw
    .list(draw.pick([1, 1, 1, 2, 3]), () =>
      draw.weighted([
        [2, () => [edit(draw, adapter, 'llama')]],
        [
          3,
          () => [
            ['tensor', draw.int(0, 3), draw.int(0, 3), draw.pick([0, 1, 2, 3, 4, 8, 64, 128, 300, 2 ** 32])],
          ],
        ],
        [1, () => [['tensor', draw.int(0, 3), 'type', draw.pick([0, 1, 2, 8, 24, 30, 40])]]],
        [1, () => [['set', 'adapter.lora.alpha', 'f32', oddFloat(draw)]]],
        // both of a rank, as a file for other tensors has them
        [
          2,
          () =>
            draw
              .pick([
                [0, 1],
                [2, 3],
              ])
              .map(named(draw.pick(BASES))),
        ],
        [2, () => rank(draw)],
      ])(),
    )
    .flat()
  const scales = draw.list(draw.int(1, 2), () => draw.pick([1, 1, 0, -1, 1e6, 1e-30]))
  return { kind: 'lora', edits, scales, use: drawUse(draw) }
}

export async function run({ edits, scales, use }) {
  model ??= mutated(fuzzModel({ spec: { arch: 'llama', hidden: HIDDEN, heads: 4, vocab: 300 } }), [])
  await writeFile(WHOLE, mutated(adapter, []))
  await writeFile(MUTANT, mutated(adapter, edits))
  const loras = scales.map((scale, i) => ({ path: i === 0 ? MUTANT : WHOLE, scale }))
  return useModel(model, use, 'The quick brown fox. '.repeat(12), { loras })
}

const named = (base) => (tensor) => ['tensor', tensor, 'name', `${base}.lora_${'ab'[tensor % 2]}`]

/** A rank of the first pair that its tensors agree on. */
function rank(draw) {
  const n = draw.pick([0, 1, 2, 3, 8, 64, 2 ** 31, 2 ** 40])
  return [
    ['tensor', 0, 1, n],
    ['tensor', 1, 0, n],
  ]
}
