// The mutator of saved states. What loadState() takes must be what was saved; everything else must be refused.

import { Draw } from '../draw.mjs'
import { sameLogits, someTokens, tinyContext } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'

/** Prompts whose states get mutated: empty, dense, sparse, sparse twice. */
const LENGTHS = [0, 40, 300, 700]
const PROBE = Array.from({ length: 20 }, (_, i) => 65 + i)

let context
let saved

export function recipe(draw) {
  const edits = draw.list(
    draw.weighted([
      [6, 1],
      [2, 3],
      [1, 20],
    ]),
    () =>
      draw.weighted([
        [4, () => ['flip', draw.int(0, 64), 1 << draw.int(0, 7)]],
        [4, () => ['flip', draw.int(0, 2 ** 31 - 1), draw.int(1, 255)]],
        [
          2,
          () => [
            'word',
            draw.int(0, 4000) * 4,
            draw.pick([0, 1, 2 ** 31, 2 ** 32 - 1, draw.int(0, 2 ** 32 - 1)]),
          ],
        ],
        [2, () => ['cut', draw.int(0, 2 ** 31 - 1)]],
        [1, () => ['append', draw.int(1, 100)]],
        [1, () => ['splice', draw.int(0, LENGTHS.length - 1), draw.int(0, 2 ** 31 - 1)]],
        [1, () => ['fill', draw.int(0, 2 ** 31 - 1), draw.int(1, 5000), draw.pick([0, 255])]],
      ])(),
  )
  return { kind: 'state', from: draw.int(0, LENGTHS.length - 1), edits }
}

export async function run({ from, edits }) {
  if (!context) await prepare()
  const { bytes, logits } = saved[from]
  const mutant = apply(Buffer.from(bytes), edits)
  // a splice in the part that all states share makes another whole one
  const whole = saved.find((state) => mutant.equals(state.bytes))
  try {
    await context.loadState(mutant)
  } catch (error) {
    promise(codeOf(error) === 'ERR_H2O_STATE_INVALID', `${error.code}: ${error.message}`)
    // a refusal leaves a context that can be used
    await context.loadState(bytes)
    promise(sameLogits(await probe(), logits), 'other logits after a refused state')
    return 'refused'
  }
  promise(whole, 'a changed state was loaded')
  promise(sameLogits(await probe(), whole.logits), 'a whole state gives other logits')
  return 'unchanged'
}

async function prepare() {
  context = await tinyContext()
  saved = []
  for (const length of LENGTHS) {
    await context.clear()
    if (length > 0) await context.prefill(someTokens(Draw.seeded('prompt', length), length))
    const bytes = await context.saveState()
    saved.push({ bytes, logits: await probe() })
  }
}

async function probe() {
  return (await context.prefill(PROBE, { append: true })).logits
}

function apply(state, edits) {
  let bytes = state
  for (const [what, at, value, fill] of edits) {
    const i = bytes.length > 0 ? at % bytes.length : 0
    if (what === 'flip' && bytes.length > 0) bytes[i] ^= value
    if (what === 'word' && at + 4 <= bytes.length) bytes.writeUInt32LE(value, at)
    if (what === 'cut') bytes = bytes.subarray(0, i)
    if (what === 'append') bytes = Buffer.concat([bytes, Buffer.alloc(at, 1)])
    if (what === 'fill') bytes.fill(fill, i, Math.min(bytes.length, i + value))
    if (what === 'splice') {
      const other = Buffer.from(saved[at].bytes)
      const split = value % Math.max(1, Math.min(bytes.length, other.length))
      bytes = Buffer.concat([bytes.subarray(0, split), other.subarray(split)])
    }
  }
  return bytes
}
