import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { createContext, loadModel } from '../../../src/ts/index.js'
import { architectures, ggufHead, u32 as u32Value } from '../../../src/ts/model-maker/index.js'
import { architectureFile } from '../../architectures/files.js'
import { experts, tinyMetadata } from '../../architectures/metadata.js'
import { recurrent } from '../../architectures/mixed.js'
import { fuzzModel, mutated } from '../../fuzz/gguf-file.mjs'
import { modelNamed, modelNames } from '../../fuzz/models.mjs'
import { scratch } from '../../ts/support.js'

const SHAPE = { hidden: 64, heads: 4, vocab: 300 }

async function written(name: string, spec: object, edits: unknown[]): Promise<string> {
  await writeFile(scratch(name), mutated(fuzzModel({ spec: { ...SHAPE, ...spec } }), edits))
  return scratch(name)
}

describe('metadata that no model can have is named', () => {
  const u32 = (key: string, value: number) => ['set', key, 'u32', value]
  const f32 = (key: string, value: unknown) => ['set', key, 'f32', value]
  const text = (key: string, value: string) => ['set', key, 'string', value]
  const sections = (...pairs: number[]) => ['set', 'qwen35.rope.dimension_sections', 'i32[]', pairs]
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
    [
      'granitehybrid',
      [u32('granitehybrid.rope.dimension_count', 0)],
      'granitehybrid.rope.dimension_count',
      '0',
    ],
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
    ['jamba', [u32('jamba.attention.head_count_kv', 2)], 'jamba.attention.head_count_kv', '2'],
    ['qwen35', [u32('qwen35.ssm.inner_size', 2 ** 32 - 2)], 'qwen35.ssm.inner_size', /e\+09$/],
    ['qwen35moe', [u32('qwen35moe.ssm.inner_size', 32)], 'qwen35moe.ssm.inner_size', '32'],
    ['qwen3next', [u32('qwen3next.ssm.inner_size', 2 ** 20)], 'qwen3next.ssm.inner_size', '1048576'],
    ['qwen35', [sections(0, 0, 0, 8)], 'qwen35.rope.dimension_sections', /^.0, 0, 0, 8/],
    ['qwen35', [sections(1, -1, 0, 0)], 'qwen35.rope.dimension_sections', /^.1, -1, 0, 0/],
    ['qwen35', [sections(2 ** 31 - 1, 1, 1, 1)], 'qwen35.rope.dimension_sections', /e\+09, 1/],
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

  it('but a hybrid that turns no rope may say so', async () => {
    const key = 'granitehybrid.rope'
    const off = [u32(`${key}.dimension_count`, 0), ['set', `${key}.scaling.finetuned`, 'bool', 0]]
    const path = await written('no-rope.gguf', { arch: 'granitehybrid', layers: 4 }, off)
    await using context = await createContext({ model: path, nCtx: 256 })
    expect(await context.prefill([1, 2, 3])).toMatchObject({ tokens: 3 })
  })

  it.each([
    ['minimax-m2', experts],
    ['nemotron', {}],
  ])('but rope may turn a part of the heads of %s', { tags: ['stock'] }, async (arch, own) => {
    const path = await architectureFile({ arch, own: { ...own, 'rope.dimension_count': u32Value(8) } })
    await using context = await createContext({ model: path, nCtx: 256 })
    expect(await context.prefill([1, 2, 3])).toMatchObject({ tokens: 3 })
  })

  const ranks = ['decay', 'iclr', 'value_residual_mix', 'gate'].map((name) => `attention.${name}_lora_rank`)
  const rwkv7 = {
    'wkv.head_size': u32Value(32),
    ...Object.fromEntries(ranks.map((key) => [key, u32Value(8)])),
  }
  const plamo2 = recurrent.find(({ arch }) => arch === 'plamo2')?.own

  it.each([
    ['no window, where the graph takes one for granted', 'afmoe', 'attention.sliding_window', experts],
    [
      'heads wider than the model',
      'rwkv7',
      'wkv.head_size',
      { ...rwkv7, 'wkv.head_size': u32Value(2 ** 24) },
    ],
    [
      'heads that a vector does not fill',
      'arwkv7',
      'wkv.head_size',
      { ...rwkv7, 'wkv.head_size': u32Value(32) },
    ],
    ['a token for ever', 'rwkv7', 'token_shift_count', { ...rwkv7, token_shift_count: u32Value(2 ** 24) }],
    ['groups of none', 'plamo2', 'ssm.group_count', { ...plamo2, 'ssm.group_count': u32Value(2 ** 24) }],
  ])('%s: %s', { tags: ['stock'] }, async (_, arch, key, own) => {
    await expect(loadModel(await architectureFile({ arch, own }))).rejects.toMatchObject({
      code: 'ERR_H2O_MODEL_INVALID',
      details: { key: `${arch}.${key}` },
    })
  })

  it.each([
    ['rwkv6qwen2', ['time_mix_first.weight'], 'time_mix_ln.weight'],
    ['phi3', ['attn_output.weight', 'attn_q.weight', 'attn_k.weight'], 'attn_v.weight'],
    ['pockettts', ['attn_output.weight', 'attn_q.weight', 'attn_v.weight'], 'attn_k.weight'],
    ['hy_v3', ['ffn_gate_inp.weight', 'ffn_down_exps.weight'], 'ffn_up_exps.weight'],
    ['mimo2', ['ffn_gate_inp.weight', 'ffn_up_exps.weight'], 'ffn_down_exps.weight'],
    ['step35', ['ffn_gate_inp.weight', 'ffn_down_exps.weight'], 'ffn_up_exps.weight'],
  ])('%s: %j without %s', async (arch, names, missing) => {
    const tensors = names.map((name) => ({ name: `blk.0.${name}`, shape: [32], type: 'f32' }) as const)
    await writeFile(
      scratch('lacking.gguf'),
      ggufHead(tinyMetadata(arch, { block_count: u32Value(1) }), tensors),
    )
    await expect(loadModel(scratch('lacking.gguf'))).rejects.toMatchObject({
      code: 'ERR_H2O_MODEL_INVALID',
      details: { key: `blk.0.${missing}`, value: 'missing' },
    })
  })

  it('a file of the layers alone that predict further tokens', async () => {
    const whole = fuzzModel({ spec: { arch: 'qwen35', ...SHAPE, layers: 4 } })
    const add = (name: string, ne: number[], size: number) => {
      whole.tensors.push({ name: `blk.3.nextn.${name}.weight`, ne, type: 0, offset: whole.data.length })
      whole.data = Buffer.concat([whole.data, Buffer.alloc(4 * size)])
    }
    const { hidden } = SHAPE
    add('eh_proj', [2 * hidden, hidden], 2 * hidden * hidden)
    add('enorm', [hidden], hidden)
    add('hnorm', [hidden], hidden)
    const trunk = whole.tensors
      .map(({ name }, i) => ({ name, i }))
      .filter(({ name }) => /^blk\.[0-2]\./.test(name))
    const edits = trunk.reverse().map(({ i }) => ['lose', i])
    await writeFile(
      scratch('drafter.gguf'),
      mutated(whole, [...edits, u32('qwen35.nextn_predict_layers', 1)]),
    )
    await expect(loadModel(scratch('drafter.gguf'))).rejects.toMatchObject({
      code: 'ERR_H2O_MODEL_INVALID',
      details: { key: 'qwen35.nextn_predict_layers' },
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
