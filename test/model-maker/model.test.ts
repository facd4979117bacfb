import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  architectures,
  EOS_TOKEN,
  isPrintable,
  type ModelSpec,
  makeModel,
  presets,
  resolveSpec,
  type TensorType,
  typeTraits,
  writeGguf,
  writeModel,
} from '../../src/ts/model-maker/index.js'
import { readGguf } from './read-gguf.js'

const types = Object.keys(typeTraits) as TensorType[]
let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'model-maker-'))
})
afterAll(() => rm(dir, { recursive: true }))

describe('the file', () => {
  it.each(architectures)('%s: what is read is what was made', async (arch) => {
    const model = makeModel({ arch, type: 'q8_0' })
    const path = join(dir, `${arch}.gguf`)
    await writeGguf(model, path)
    const bytes = await readFile(path)
    const file = readGguf(bytes)

    expect(file.version).toBe(3)
    expect(file.metadata.get('general.architecture')).toBe(arch)
    expect(Object.fromEntries(file.metadata)).toEqual(
      Object.fromEntries(Object.entries(model.metadata).map(([k, v]) => [k, float32(v.value)])),
    )
    expect(file.tensors.map((t) => t.name)).toEqual([...model.tensors.keys()])
    let end = 0
    for (const info of file.tensors) {
      const tensor = model.tensors.get(info.name)
      if (!tensor) throw new Error(info.name)
      expect(info.shape).toEqual(tensor.shape)
      expect(info.type).toBe(typeTraits[tensor.type].id)
      expect(info.offset).toBe(Math.ceil(end / 32) * 32)
      end = info.offset + tensor.bytes.length
      const stored = bytes.subarray(file.dataOffset + info.offset, file.dataOffset + end)
      expect(stored.equals(tensor.bytes)).toBe(true)
    }
    expect(bytes.length).toBe(file.dataOffset + Math.ceil(end / 32) * 32)
  })

  it('has a readable vocabulary and tensors beyond one buffer', async () => {
    const path = join(dir, 'wide.gguf')
    await writeModel(path, { arch: 'llama', vocab: 20000, layers: 30, hidden: 32 })
    const file = readGguf(await readFile(path))
    const tokens = file.metadata.get('tokenizer.ggml.tokens') as string[]
    expect(tokens.length).toBe(20000)
    expect(new Set(tokens).size).toBe(20000)
    expect(tokens).not.toContain('')
    expect(new Set(file.tensors.map((t) => t.name)).size).toBe(file.tensors.length)
  })

  it.each(
    types,
  )('%s: streamed in groups of rows, the bytes are those of the model in memory', async (type) => {
    const spec: ModelSpec = { arch: 'qwen3', hidden: 512, heads: 4, ffn: 4096, layers: 1, vocab: 3001, type }
    await writeModel(join(dir, 'streamed.gguf'), spec)
    await writeGguf(makeModel(spec), join(dir, 'whole.gguf'))
    const [a, b] = await Promise.all(['streamed', 'whole'].map((n) => readFile(join(dir, `${n}.gguf`))))
    expect(same(a, b)).toBe(true)
  })

  it('is whole or not there', async () => {
    const edit = () => {
      throw new Error('no')
    }
    await expect(writeModel(join(dir, 'half.gguf'), { arch: 'llama', edit })).rejects.toThrow('no')
    expect((await readdir(dir)).filter((name) => name.startsWith('half'))).toEqual([])
  })
})

describe('values', () => {
  it('are the same for the same spec, and others for another seed', () => {
    const [a, b, c] = [1, 1, 2 ** 40].map((seed) => makeModel({ arch: 'qwen3', seed }).tensors)
    for (const [name, tensor] of a ?? []) {
      expect(same(b?.get(name)?.bytes, tensor.bytes)).toBe(true)
      expect(same(c?.get(name)?.bytes, tensor.bytes)).toBe(false)
    }
  })

  it('of a tensor depend on neither the other tensors nor the type', () => {
    const a = makeModel({ arch: 'llama' }).tensors
    const b = makeModel({ arch: 'qwen3', layers: 5 }).tensors
    const c = makeModel({ arch: 'llama', type: 'q8_0', embeddingType: 'f32' }).tensors
    const bytes = (tensors: Tensors, name: string) => tensors.get(name)?.bytes
    expect(same(bytes(b, 'blk.1.attn_v.weight'), bytes(a, 'blk.1.attn_v.weight'))).toBe(true)
    expect(same(bytes(c, 'token_embd.weight'), bytes(a, 'token_embd.weight'))).toBe(true)
    expect(rms(difference(c, a, 'blk.1.ffn_up.weight')) / rms(data(a, 'blk.1.ffn_up.weight'))).toBeLessThan(
      0.01,
    )
  })

  it('are normal, with the scales that keep activations near 1', () => {
    const { tensors } = makeModel({ arch: 'llama', hidden: 256, heads: 4, attentionGain: 9 })
    const scale = (name: string, inputs: number) => rms(data(tensors, name)) * Math.sqrt(inputs)
    expect(scale('blk.0.ffn_up.weight', 256)).toBeCloseTo(1, 1)
    expect(scale('blk.0.attn_q.weight', 256)).toBeCloseTo(3, 1)
    expect(scale('blk.0.attn_k.weight', 256)).toBeCloseTo(3, 1)
    expect(scale('blk.0.attn_v.weight', 256)).toBeCloseTo(1, 1)
    const norm = data(tensors, 'blk.0.attn_norm.weight')
    expect(mean(norm)).toBeCloseTo(1, 1)
    expect(Math.max(...norm) - Math.min(...norm)).toBeGreaterThan(0.5)
    const up = data(tensors, 'blk.0.ffn_up.weight').map((v) => v * 16)
    expect(mean(up)).toBeCloseTo(0, 2)
    expect(mean(up.map((v) => v ** 4))).toBeCloseTo(3, 0)
    const within = up.filter((v) => Math.abs(v) < 1).length / up.length
    expect(within).toBeCloseTo(0.683, 2)
  })

  it('gain goes to the head norms where there are some, and to the q and k rows of a fused matrix', () => {
    const qwen3 = makeModel({ arch: 'qwen3', attentionGain: 16 }).tensors
    expect(mean(data(qwen3, 'blk.0.attn_q_norm.weight'))).toBeCloseTo(4, 0)
    const phi3 = makeModel({ arch: 'phi3', attentionGain: 16 }).tensors
    const qkv = data(phi3, 'blk.0.attn_qkv.weight') // 128 rows of q, 64 of k, 64 of v, 128 inputs
    const scale = (from: number, to: number) => rms(qkv.slice(from * 128, to * 128)) * Math.sqrt(128)
    expect([scale(0, 128), scale(128, 192), scale(192, 256)].map(Math.round)).toEqual([4, 4, 1])
  })

  it('favour printable tokens in the output, and never an unused one', () => {
    const row = (tensor: Float32Array, token: number) => rms(tensor.slice(token * 128, token * 128 + 128))
    for (const tied of [false, true]) {
      const { tensors } = makeModel({ arch: 'llama', tied, vocab: 300 })
      expect(tensors.has('output.weight')).toBe(!tied)
      const output = data(tensors, tied ? 'token_embd.weight' : 'output.weight')
      const printable = row(output, 65)
      for (let token = 0; token < 300; token++) {
        const share = row(output, token) / printable
        if (token > EOS_TOKEN) expect(share).toBe(0)
        else expect(share > 0.5).toBe(isPrintable(token))
      }
    }
  })
})

describe('edit', () => {
  it('sees every tensor before it is rounded, and what it changes is stored', () => {
    const seen: string[] = []
    const model = makeModel({
      arch: 'llama',
      type: 'q8_0',
      edit(name, values, shape) {
        seen.push(name)
        expect(values.length).toBe(shape.reduce((a, b) => a * b, 1))
        if (name === 'blk.0.attn_v.weight') values.fill(2)
        if (name === 'blk.1.ffn_down.weight') values[5] = NaN
      },
    })
    expect(seen).toEqual([...model.tensors.keys()])
    expect(mean(data(model.tensors, 'blk.0.attn_v.weight'))).toBeCloseTo(2, 2)
    expect(data(model.tensors, 'blk.1.ffn_down.weight').filter(Number.isNaN).length).toBe(32)
  })

  it('gives the same bytes when streamed', async () => {
    const spec: ModelSpec = { arch: 'gpt-oss', edit: (_, values) => values.reverse() }
    await writeModel(join(dir, 'edited.gguf'), spec)
    await writeGguf(makeModel(spec), join(dir, 'edited-whole.gguf'))
    const [a, b] = await Promise.all(['edited', 'edited-whole'].map((n) => readFile(join(dir, `${n}.gguf`))))
    expect(same(a, b)).toBe(true)
  })
})

describe('specs', () => {
  it.each(
    architectures.flatMap((arch) => types.map((type) => [arch, type] as const)),
  )('%s %s', (arch, type) => {
    const { tensors } = makeModel({ arch, type })
    for (const tensor of tensors.values()) {
      expect([type, 'f32']).toContain(tensor.type)
      expect(tensor.data.every(Number.isFinite)).toBe(true)
    }
  })

  it.each(Object.entries(presets))('%s is sound', (_, preset) => {
    expect(() => resolveSpec(preset)).not.toThrow()
  })

  it.each([
    [{ arch: 'llama', vocab: 100 }, /vocab/],
    [{ arch: 'llama', hidden: 100, heads: 3 }, /headDim/],
    [{ arch: 'llama', heads: 4, kvHeads: 3 }, /multiple/],
    [{ arch: 'qwen2', headDim: 64 }, /must be hidden/],
    [{ arch: 'gemma2', slidingWindow: 0 }, /window/],
    [{ arch: 'gemma3', slidingPattern: 1 }, /sliding layer/],
    [{ arch: 'llama', layers: 1.5 }, /layers/],
    [{ arch: 'llama', hidden: 80, heads: 4, headDim: 32, type: 'q4_0' }, /blocks of 32/],
    [{ arch: 'phi3', name: 'my phi-3' }, /name/],
    [{ arch: 'gpt-5' }, /unknown architecture/],
  ] as [ModelSpec, RegExp][])('%o is refused', (spec, message) => {
    expect(() => makeModel(spec)).toThrow(RangeError)
    expect(() => makeModel(spec)).toThrow(message)
  })
})

type Tensors = ReturnType<typeof makeModel>['tensors']

function data(tensors: Tensors, name: string): Float32Array {
  const tensor = tensors.get(name)
  if (!tensor) throw new Error(`no ${name}`)
  return tensor.data
}

/** toEqual takes seconds for a million bytes. */
function same(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0
}

function difference(a: Tensors, b: Tensors, name: string): Float32Array {
  const y = data(b, name)
  return data(a, name).map((v, i) => v - (y[i] ?? NaN))
}

function mean(x: Float32Array): number {
  return x.reduce((sum, v) => sum + v, 0) / x.length
}

function rms(x: Float32Array): number {
  return Math.sqrt(mean(x.map((v) => v * v)))
}

function float32(value: unknown): unknown {
  return typeof value === 'number' ? Math.fround(value) : value
}
