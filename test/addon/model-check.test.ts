import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { createContext, loadModel } from '../../src/ts/index.js'
import { architectures } from '../../src/ts/model-maker/index.js'
import { architectureFile } from '../architectures/files.js'
import { experts } from '../architectures/metadata.js'
import { fuzzModel, mutated } from '../fuzz/gguf-file.mjs'
import { modelNamed, modelNames } from '../fuzz/models.mjs'
import { scratch } from './support.js'

const SHAPE = { hidden: 64, heads: 4, vocab: 300 }

async function written(name: string, spec: object, edits: unknown[]): Promise<string> {
  await writeFile(scratch(name), mutated(fuzzModel({ spec: { ...SHAPE, ...spec } }), edits))
  return scratch(name)
}

describe('metadata that no model can have is named', () => {
  const u32 = (key: string, value: number) => ['set', key, 'u32', value]
  const f32 = (key: string, value: unknown) => ['set', key, 'f32', value]
  const text = (key: string, value: string) => ['set', key, 'string', value]
  const tokens = 'tokenizer.ggml.tokens'
  const kind = (name: string) => text('tokenizer.ggml.model', name)

  /** Architecture, edits, the key that is named, the value that it has. */
  const cases: [string, unknown[], string, string | RegExp][] = [
    ['llama', [u32('llama.block_count', 0)], 'llama.block_count', '0'],
    ['llama', [u32('llama.block_count', 513)], 'llama.block_count', '513'],
    ['llama', [u32('llama.nextn_predict_layers', 3)], 'llama.nextn_predict_layers', '3'],
    ['llama', [u32('llama.expert_count', 4)], 'llama.expert_used_count', 'missing'],
    ['llama', [u32('llama.expert_used_count', 4)], 'llama.expert_used_count', '4'],
    ['qwen3moe', [u32('qwen3moe.expert_count', 1025)], 'qwen3moe.expert_count', '1025'],
    ['qwen3moe', [u32('qwen3moe.expert_used_count', 5)], 'qwen3moe.expert_used_count', '5'],
    ['qwen3moe', [u32('qwen3moe.expert_group_count', 3)], 'qwen3moe.expert_group_count', '3'],
    ['qwen3moe', [u32('qwen3moe.expert_group_count', 2)], 'qwen3moe.expert_group_used_count', 'missing'],
    ['llama', [text('llama.rope.scaling.type', 'cubic')], 'llama.rope.scaling.type', 'cubic'],
    ['phi3', [u32('phi3.rope.dimension_count', 2 ** 32 - 2)], 'phi3.rope.dimension_count', /e\+09$/],
    ['phi3', [u32('phi3.rope.dimension_count', 7)], 'phi3.rope.dimension_count', '7'],
    ['gemma3', [u32('gemma3.rope.dimension_count', 0)], 'gemma3.rope.dimension_count', '0'],
    ['qwen3', [u32('qwen3.rope.dimension_count', 8)], 'qwen3.rope.dimension_count', '8'],
    ['qwen3', [u32('qwen3.attention.key_length', 8)], 'qwen3.attention.key_length', '8'],
    ['gpt-oss', [u32('gpt-oss.attention.key_length', 1e6)], 'gpt-oss.attention.key_length', '1000000'],
    ['llama', [u32('llama.attention.head_count_kv', 3)], 'llama.attention.head_count_kv', '3'],
    ['qwen2', [u32('qwen2.attention.head_count', 8)], 'qwen2.attention.head_count', '8'],
    ['phi3', [u32('phi3.attention.head_count', 6)], 'phi3.attention.head_count', '6'],
    [
      'llama',
      [f32('llama.attention.layer_norm_rms_epsilon', -1)],
      'llama.attention.layer_norm_rms_epsilon',
      '-1',
    ],
    ['mpt', [f32('mpt.attention.layer_norm_epsilon', 'NaN')], 'mpt.attention.layer_norm_epsilon', /nan$/],
    ['jamba', [u32('jamba.ssm.inner_size', 64)], 'jamba.ssm.inner_size', '64'],
    ['jamba', [['resize', 'jamba.attention.head_count_kv', 3]], 'jamba.attention.head_count_kv', /3 values/],
    ['llama', [u32('general.alignment', 2 ** 31)], 'general.alignment', /e\+09$/],
    ['llama', [u32('general.alignment', 48)], 'general.alignment', '48'],
    ['llama', [['item', tokens, 66, 'A']], tokens, 'token 66: A'],
    ['llama', [['resize', tokens, 0]], tokens, '[]'],
    ['llama', [['resize', 'tokenizer.ggml.token_type', 9]], 'tokenizer.ggml.token_type', '9 values'],
    [
      'llama',
      [kind('bert'), ['item', 'tokenizer.ggml.token_type', 9, 6]],
      'tokenizer.ggml.token_type',
      /token 9/,
    ],
    ['llama', [kind('rwkv'), ['item', tokens, 65, 'AB']], tokens, 'token 65: AB'],
    ['llama', [kind('none'), u32('llama.vocab_size', 4e9)], 'llama.vocab_size', /e\+09$/],
  ]

  it.each(cases)('%s: %j', async (arch, edits, key, value) => {
    const error = await loadModel(await written('bad.gguf', { arch }, edits)).then(
      () => undefined,
      (e) => e,
    )
    expect(error).toMatchObject({ name: 'H2oError', code: 'ERR_H2O_MODEL_INVALID', details: { key } })
    expect(error.details.value).toMatch(value)
    expect(error.message).toContain(key)
  })

  it('no window, where the graph takes one for granted', async () => {
    const file = await architectureFile({ arch: 'afmoe', own: experts })
    await expect(loadModel(file)).rejects.toMatchObject({
      code: 'ERR_H2O_MODEL_INVALID',
      details: { key: 'afmoe.attention.sliding_window' },
    })
  })

  it('a replacement in a character map that is longer than a text', async () => {
    const map = [4, 0, 0, 0, 0, 0, 0, 0, ...Array(2000).fill(65), 0]
    const edits = [kind('t5'), ['set', 'tokenizer.ggml.precompiled_charsmap', 'u8[]', map]]
    await expect(loadModel(await written('map.gguf', { arch: 'llama' }, edits))).rejects.toMatchObject({
      details: { key: 'tokenizer.ggml.precompiled_charsmap' },
    })
  })
})

describe('a healthy model loads', () => {
  it.each(modelNames)('%s', async (name) => {
    await writeFile(scratch('healthy.gguf'), mutated(fuzzModel(modelNamed(name)), []))
    const model = await loadModel(scratch('healthy.gguf'))
    expect(model.architecture).toBe(name)
    await model.dispose()
  })

  it.each(architectures)('%s with one head, without windows of its own, of many layers', async (arch) => {
    const spec = { arch, heads: 1, hidden: 32, layers: 7, metadata: {} }
    const model = await loadModel(await written('healthy.gguf', spec, []))
    expect(model.nLayer).toBe(7)
    await model.dispose()
  })

  it.each([
    'mmap',
    'none',
  ] as const)('whose tensors are aligned to 8 bytes, load mode %s', async (loadMode) => {
    const spec = { ...SHAPE, arch: 'llama' }
    const file = (alignment: number, key: string) =>
      mutated(fuzzModel({ spec }), [
        ['set', 'general.alignment', 'u32', alignment],
        ['set', key, 'u8', 1],
        ['header', 'alignment', alignment],
      ])
    // the length of a key moves the data to every multiple of 8
    const heads = [1, 9, 17, 25].map((length) => file(8, 'x'.repeat(length)))
    const logits = []
    for (const bytes of [file(32, 'x'), ...heads]) {
      await writeFile(scratch('aligned.gguf'), bytes)
      const model = await loadModel({ path: scratch('aligned.gguf'), loadMode })
      const context = await createContext({ model, nCtx: 256, nThreads: 1 })
      logits.push((await context.prefill('Hello')).logits)
      await context.dispose()
      await model.dispose()
    }
    for (const row of logits) expect(row).toEqual(logits[0])
  })

  it('RWKV tokens that all begin with a byte that is one, too', async () => {
    const bytes = Array.from({ length: 256 }, (_, i) => [
      'item',
      'tokenizer.ggml.tokens',
      i,
      `\\x${i.toString(16).padStart(2, '0')}`,
    ])
    const edits = [...bytes, ['set', 'tokenizer.ggml.model', 'string', 'rwkv']]
    const model = await loadModel(await written('rwkv.gguf', { arch: 'llama' }, edits))
    expect(Array.from(model.tokenize('Ab\n'))).toEqual([65, 98, 10])
    await model.dispose()
  })
})

it('a model that learned its positions reads no further', async () => {
  const file = fuzzModel({ spec: { arch: 'mpt', ...SHAPE, context: 64 } })
  file.tensors.push({ name: 'position_embd.weight', ne: [64, 64], type: 0, offset: file.data.length })
  file.data = Buffer.concat([file.data, Buffer.alloc(64 * 64 * 4)])
  await writeFile(scratch('positions.gguf'), mutated(file, []))

  const model = await loadModel(scratch('positions.gguf'))
  const context = await createContext({ model, nCtx: 512, nBatch: 192, nUbatch: 64, nThreads: 1 })
  await expect(context.prefill('x'.repeat(65))).rejects.toMatchObject({
    code: 'ERR_H2O_PROMPT_TOO_LONG',
    details: { nPositions: 64 },
  })
  expect((await context.prefill('x'.repeat(64))).tokens).toBe(64)
  await context.dispose()
  await model.dispose()
})
