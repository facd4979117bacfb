// The general mutator of model files: keys, types, values, counts, tensor infos, truncation, flipped bytes.

import { readFileSync } from 'node:fs'
import { oddFloat, oddNumber } from '../draw.mjs'
import { fuzzModel, mutated } from '../gguf-file.mjs'
import { modelNamed, modelNames } from '../models.mjs'
import { drawUse, useModel } from '../use-model.mjs'

const TEXT = 'The quick brown fox, 12 times: jumps\n over the lazy dog. '.repeat(5)

const SOURCE = readFileSync(new URL('../../../vendor/llama.cpp/src/llama-arch.cpp', import.meta.url), 'utf8')
/** Every key and architecture that llama.cpp knows. */
const KEYS = [...SOURCE.matchAll(/\{ LLM_KV_\w+,\s*"([^"]+)"/g)].map(([, key]) => key)
const ARCHITECTURES = [...SOURCE.matchAll(/\{ LLM_ARCH_\w+,\s*"([^"]+)"/g)].map(([, name]) => name)

const TYPES = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'u64', 'i64', 'f32', 'f64', 'bool', 'string']
const WORDS = [
  '',
  'none',
  'linear',
  'yarn',
  'longrope',
  'llama',
  'gpt2',
  'bert',
  't5',
  'rwkv',
  'x'.repeat(300),
  '\u0000',
]

const bases = new Map()

function base(name) {
  if (!bases.has(name)) bases.set(name, fuzzModel(modelNamed(name)))
  return bases.get(name)
}

export function recipe(draw, seed) {
  const model = modelNames[seed % modelNames.length]
  const file = base(model)
  const edits = draw.list(
    draw.weighted([
      [8, 1],
      [2, 2],
      [1, 4],
    ]),
    () => edit(draw, file, model),
  )
  return { kind: 'gguf', model, edits, use: drawUse(draw) }
}

export async function run({ model, edits, use }) {
  return useModel(mutated(base(model), edits), use, TEXT)
}

/** A change somewhere in a file, and of something that the architecture would have there. */
export function edit(draw, { entries, tensors }, arch) {
  const keys = [...entries.keys()]
  const numbers = keys.filter((key) => /^(u|i|f)\d+$/.test(entries.get(key).type))
  const arrays = keys.filter((key) => Array.isArray(entries.get(key).value))
  return draw.weighted([
    [
      40,
      () => {
        const key = draw.pick(numbers)
        const { type, value } = entries.get(key)
        return ['set', key, type, type === 'f32' ? oddFloat(draw) : oddNumber(draw, value)]
      },
    ],
    [
      20,
      () => {
        const key = draw.pick(KEYS).replace('%s', arch)
        const type =
          entries.get(key)?.type.replace('[]', '') ??
          draw.pick(['u32', 'u32', 'u32', 'f32', 'bool', 'string'])
        return ['set', key, type, oddValue(draw, type)]
      },
    ],
    [
      6,
      () => {
        const type = draw.pick(TYPES)
        return ['set', draw.pick(keys), type, oddValue(draw, type)]
      },
    ],
    [
      3,
      () => {
        const type = draw.pick(['u32', 'i32', 'f32', 'bool'])
        const length = draw.pick([0, 1, 2, 3, 512, 513])
        return ['set', draw.pick(keys), `${type}[]`, draw.list(length, () => oddValue(draw, type))]
      },
    ],
    [5, () => ['drop', draw.pick(keys)]],
    [2, () => ['rename', draw.pick(keys), draw.pick(KEYS).replace('%s', arch)]],
    [2, () => ['set', 'general.architecture', 'string', draw.pick(ARCHITECTURES)]],
    [4, () => ['resize', draw.pick(arrays), draw.pick([0, 1, 2, 255, 257, 299, 301, 1000])]],
    [
      4,
      () => {
        const key = draw.pick(arrays)
        return ['item', key, draw.int(0, 299), oddValue(draw, entries.get(key).type.replace('[]', ''))]
      },
    ],
    [
      8,
      () => {
        const i = draw.int(0, tensors.length - 1)
        return draw.pick([
          ['tensor', i, draw.int(0, 3), oddNumber(draw, 64)],
          ['tensor', i, 'type', draw.pick([...Array(42).keys(), -1, 2 ** 31])],
          ['tensor', i, 'name', draw.pick(tensors).name],
          ['tensor', i, 'name', 'x'.repeat(draw.pick([0, 1, 63, 64, 1000]))],
          ['tensor', i, 'offset', draw.pick([0, 1, 32, 2 ** 40])],
          ['tensor', i, 'dims', draw.pick([0, 1, 3, 4, 5, 2 ** 32 - 1])],
        ])
      },
    ],
    [3, () => ['lose', draw.int(0, tensors.length - 1)]],
    [3, () => ['header', draw.pick(['version', 'tensors', 'entries']), oddNumber(draw, tensors.length)]],
    [6, () => ['flip', draw.int(0, 12000), 1 << draw.int(0, 7)]],
    [2, () => ['flip', draw.int(0, 1e6), draw.int(1, 255)]],
    [2, () => ['cut', draw.int(0, 400000)]],
  ])()
}

function oddValue(draw, type) {
  if (type === 'string') return draw.pick([...WORDS, draw.pick(ARCHITECTURES)])
  if (type === 'bool') return draw.chance(0.5) ? 1 : 0
  return type.startsWith('f') ? oddFloat(draw) : oddNumber(draw, 64)
}
