import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { encode, type TensorType } from '../../src/ts/model-maker/index.js'
import { readGguf } from '../model-maker/read-gguf.js'
import { scratch } from '../ts/support.js'
import { ggufPython, pythonWithGguf } from './python.js'

const code = `
import sys, numpy as np, gguf_file
from pathlib import Path
from metadata import U32
values = np.random.default_rng(1).standard_normal((6, 96), np.float32)
values[2, :32] = 0
values[3] = np.arange(96) / 2  # halves, to be rounded away from zero
tensors = [gguf_file.Tensor(type, values, type) for type in ("f32", "f16", "q8_0")]
tensors.append(gguf_file.Tensor("vector", values[0, :5], "f32"))
metadata = {"general.architecture": "qwen3", "a": U32(7), "b": 0.5, "c": True, "d": "text", "e": [1, -2], "f": ["x", "\\u0120y"]}
gguf_file.write(Path(sys.argv[1]), metadata, tensors)
again = gguf_file.read(Path(sys.argv[1]))
assert [*again] == [tensor.name for tensor in tensors]
for tensor in tensors:
    # as far as the type can tell: a step of Q8_0 is max / 127
    values, read = tensor.values, again[tensor.name]
    step = {"f32": 0, "f16": 2**-11 * np.abs(values), "q8_0": np.abs(values).max(-1, keepdims=True) / 220}[tensor.type]
    assert read.dtype == np.float32 and read.shape == values.shape
    assert (np.abs(read - values) <= step).all(), tensor.name
`

describe.skipIf(!ggufPython)('the GGUF files of the training', () => {
  it('are what the model maker would write, and are read back', async () => {
    const path = scratch('written.gguf')
    pythonWithGguf('-c', code, path)
    const bytes = new Uint8Array(await readFile(path))
    const { version, metadata, tensors, dataOffset } = readGguf(bytes)
    expect(version).toBe(3)
    expect(Object.fromEntries(metadata)).toEqual({
      'general.architecture': 'qwen3',
      a: 7,
      b: 0.5,
      c: true,
      d: 'text',
      e: [1, -2],
      f: ['x', 'Ġy'],
    })
    expect(tensors.map(({ name, shape }) => [name, shape])).toEqual([
      ['f32', [96, 6]],
      ['f16', [96, 6]],
      ['q8_0', [96, 6]],
      ['vector', [5]],
    ])
    const at = (name: string, size: number) => {
      const begin = dataOffset + (tensors.find((tensor) => tensor.name === name)?.offset as number)
      return bytes.slice(begin, begin + size)
    }
    const values = new Float32Array(at('f32', 96 * 6 * 4).buffer)
    for (const type of ['f16', 'q8_0'] as TensorType[]) {
      const expected = encode(type, values)
      expect(at(type, expected.length)).toEqual(expected)
    }
    expect(new Float32Array(at('vector', 20).buffer)).toEqual(values.slice(0, 5))
  })
})
