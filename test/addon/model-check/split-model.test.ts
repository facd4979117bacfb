/** A model in several files: every part is checked before llama.cpp reads it, and an error names the part. */

import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createContext, loadModel } from '../../../src/ts/index.js'
import { fuzzModel, mutated, partName, partsOf } from '../../fuzz/gguf-file.mjs'
import { scratch } from '../../ts/support.js'

const SPEC = { arch: 'llama', hidden: 64, heads: 4, vocab: 300 }

type FuzzModel = ReturnType<typeof fuzzModel>
/** Edits of parts, by their number; null: there is no such file. */
type Edits = Record<number, unknown[] | null>

const nameOf = (i: number, n: number) => scratch(partName('model', i, n))

/** The first part's path. */
async function written(file: FuzzModel, edits: Edits = {}, n = 3): Promise<string> {
  for (const [i, part] of partsOf(file, n).entries()) {
    const own = edits[i]
    if (own === null) await rm(nameOf(i, n), { force: true })
    else await writeFile(nameOf(i, n), mutated(part, own ?? []))
  }
  return nameOf(0, n)
}

const errorOf = (path: string) =>
  loadModel(path).then(
    () => undefined,
    (error) => error,
  )

async function logitsOf(path: string): Promise<Float32Array | null> {
  await using context = await createContext({ model: path, nCtx: 256, nThreads: 1 })
  return (await context.prefill('Hello')).logits
}

const align = (alignment: number, length: number) => [
  ['set', 'general.alignment', 'u32', alignment],
  ['set', 'x'.repeat(length), 'u8', 1],
  ['header', 'alignment', alignment],
]

it('gives what one file gives, wherever the tensors of a part begin', async () => {
  const whole = fuzzModel({ spec: SPEC })
  await writeFile(scratch('whole.gguf'), mutated(whole, []))
  const expected = await logitsOf(scratch('whole.gguf'))
  for (const edits of [{}, { 1: align(8, 1) }, { 1: align(8, 9) }, { 2: align(8, 17) }]) {
    expect(await logitsOf(await written(whole, edits))).toEqual(expected)
  }
})

describe('a part that is not one of the model is named', () => {
  const file = fuzzModel({ spec: SPEC })
  const [first, second] = partsOf(file, 3) as [FuzzModel, FuzzModel]
  const u16 = (key: string, value: number) => ['set', key, 'u16', value]
  const inSecond = second.tensors[0]?.name as string

  /** What is wrong with the second part, the key that is named. */
  const cases: [string, unknown[] | null, string | RegExp][] = [
    ['it is missing', null, 'split.count'],
    ['it is no GGUF file', [['header', 'magic', 'GGML']], 'split.count'],
    ['its number has another type', [['set', 'split.no', 'u32', 1]], 'split.no'],
    ['its number is a list', [['set', 'split.no', 'u16[]', [1]]], 'split.no'],
    ['it has no number', [['drop', 'split.no']], 'split.no'],
    ['it is another part', [u16('split.no', 2)], 'split.no'],
    ['it is one of more', [u16('split.count', 4)], 'split.count'],
    ['it is of another model', [['set', 'split.tensors.count', 'i32', 99]], 'split.tensors.count'],
    [
      'it has a tensor of the first part',
      [['tensor', 0, 'name', first.tensors[0]?.name]],
      first.tensors[0]?.name as string,
    ],
    ['its weights have a type that is none', [['tensor', 0, 'type', 24]], inSecond],
    ['its alignment is none', [['set', 'general.alignment', 'u32', 48]], 'general.alignment'],
    ['it ends early', [['cut', 3000]], /^blk/],
    ['a tensor is elsewhere', [['tensor', 0, 'offset', 2 ** 40]], inSecond],
    ['a tensor is larger than it', [['tensor', 0, 1, 2 ** 30]], inSecond],
  ]

  it.each(cases)('%s', async (_, edits, key) => {
    const error = await errorOf(await written(file, { 1: edits }))
    expect(error).toMatchObject({ code: 'ERR_H2O_MODEL_INVALID', details: { path: nameOf(1, 3) } })
    expect(error.details.key).toMatch(key)
    expect(error.message).toContain(partName('model', 1, 3))
  })

  it.skipIf(process.platform === 'win32')('it is a pipe that nobody writes to', async () => {
    const path = await written(file, { 1: null })
    execFileSync('mkfifo', [nameOf(1, 3)])
    expect(await errorOf(path)).toMatchObject({ details: { key: 'split.count', path: nameOf(1, 3) } })
    await rm(nameOf(1, 3))
  })

  it('tensors are missing in one of them', async () => {
    const error = await errorOf(await written(file, { 1: [['lose', 0]] }))
    expect(error).toMatchObject({ code: 'ERR_H2O_MODEL_INVALID', details: { key: 'split.tensors.count' } })
  })

  it('it is given in place of the first', async () => {
    await written(file)
    expect(await errorOf(nameOf(1, 3))).toMatchObject({ details: { key: 'split.no', path: nameOf(1, 3) } })
  })

  it('the first has a name that does not lead to it', async () => {
    await writeFile(scratch('renamed.gguf'), mutated(first, []))
    const error = await errorOf(scratch('renamed.gguf'))
    expect(error).toMatchObject({ code: 'ERR_H2O_MODEL_INVALID', details: { key: 'split.count' } })
    expect(error.message).toContain(basename(partName('', 0, 3)))
  })

  it('no override hides a part', async () => {
    const overrideKv = [{ key: 'split.count', type: 'int', value: 1 }] as const
    await expect(loadModel({ path: await written(file), overrideKv })).rejects.toMatchObject({
      code: 'ERR_H2O_INVALID_ARGUMENT',
    })
  })
})

describe('the rules see the tensors of all parts', () => {
  it('learned positions', async () => {
    const file = fuzzModel({ spec: { ...SPEC, arch: 'mpt', context: 64 } })
    file.tensors.push({ name: 'position_embd.weight', ne: [64, 64], type: 0, offset: file.data.length })
    file.data = Buffer.concat([file.data, Buffer.alloc(64 * 64 * 4)])
    await using context = await createContext({
      model: await written(file),
      nCtx: 512,
      nThreads: 1,
      onWarning() {},
    })
    await expect(context.prefill('x'.repeat(65))).rejects.toMatchObject({
      code: 'ERR_H2O_PROMPT_TOO_LONG',
      details: { nPositions: 64 },
    })
  })

  it('a tensor that llama.cpp takes for optional', async () => {
    const file = fuzzModel({ spec: { ...SPEC, arch: 'qwen35', layers: 4 } })
    const missing = 'blk.0.attn_gate.weight'
    const lost = mutatedTensors(file, missing)
    expect(await errorOf(await written(lost))).toMatchObject({
      code: 'ERR_H2O_MODEL_INVALID',
      details: { key: missing, value: 'missing' },
    })
  })

  /** Without a tensor, as a file that never had it. */
  function mutatedTensors(file: FuzzModel, name: string): FuzzModel {
    const at = file.tensors.findIndex((tensor) => tensor.name === name)
    const { offset } = file.tensors[at] as { offset: number }
    const end = file.tensors[at + 1]?.offset ?? file.data.length
    const tensors = file.tensors
      .toSpliced(at, 1)
      .map((tensor) =>
        tensor.offset > offset ? { ...tensor, offset: tensor.offset - (end - offset) } : tensor,
      )
    return { ...file, tensors, data: Buffer.concat([file.data.subarray(0, offset), file.data.subarray(end)]) }
  }
})
