// The mutator of models in several files: of what a part says of the others, its tensors, and which part it is.

import { mkdtempSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { oddNumber } from '../draw.mjs'
import { fuzzModel, mutated, partName, partsOf } from '../gguf-file.mjs'
import { modelNamed, modelNames } from '../models.mjs'
import { drawUse, useFile } from '../use-model.mjs'
import { edit } from './gguf.mjs'

const folder = mkdtempSync(join(tmpdir(), 'h2o-fuzz-split-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const KEYS = ['split.no', 'split.count', 'split.tensors.count', 'general.alignment']

export function recipe(draw, seed) {
  const model = modelNames[seed % modelNames.length]
  const n = draw.int(2, 4)
  const parts = partsOf(fuzzModel(modelNamed(model)), n)
  const edits = draw.list(draw.int(1, 3), () => {
    const part = draw.int(0, n - 1)
    return draw.weighted([
      [
        4,
        () => {
          const type = draw.pick(['u16', 'i32', 'u32', 'string', 'u16[]'])
          const value = oddNumber(draw, n)
          return [part, 'set', draw.pick(KEYS), type, type === 'u16[]' ? [value] : value]
        },
      ],
      [1, () => [part, 'drop', draw.pick(KEYS)]],
      [2, () => [part, 'lose', draw.int(0, 99)]],
      [2, () => [part, 'cut', draw.int(0, 2 ** 31 - 1)]],
      [1, () => [part, 'missing']],
      [1, () => [part, 'from', draw.pick(modelNames), draw.int(0, n - 1)]],
      [6, () => [part, ...edit(draw, { ...parts[part], entries: parts[0].entries }, model)]],
    ])()
  })
  // a tensor that is in no part, and that nobody misses by the count
  const total = draw.chance(0.5) ? edits.filter(([, what]) => what === 'lose').length : 0
  return { kind: 'split', model, n, edits, total, use: drawUse(draw) }
}

export async function run({ model, n, edits, total, use }) {
  const parts = partsOf(fuzzModel(modelNamed(model)), n)
  const path = (i) => join(folder, partName('model', i, n))
  for (const [i, own] of parts.entries()) {
    const mine = edits.filter(([part]) => part === i).map(([, ...what]) => what)
    const [, name, other] = mine.find(([what]) => what === 'from') ?? []
    const part = name === undefined ? own : partsOf(fuzzModel(modelNamed(name)), n)[other]
    const { value } = part.entries.get('split.tensors.count')
    part.entries.set('split.tensors.count', { type: 'i32', value: value - total })
    const rest = mine.filter(([what]) => what !== 'from' && what !== 'missing')
    if (mine.some(([what]) => what === 'missing')) await rm(path(i), { force: true })
    else await writeFile(path(i), mutated(part, part.tensors.length > 0 ? rest : []))
  }
  return useFile(path(0), use, 'The quick brown fox jumps over the lazy dog. '.repeat(5))
}
