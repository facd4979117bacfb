import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { fuzzModel, mutated } from '../../fuzz/gguf-file.mjs'
import { runFixture, scratch, tinyModel } from '../../ts/support.js'

const path = process.env.PATH

describe('where llama.cpp gives up, the process goes on', () => {
  const spec = { hidden: 60, heads: 4, headDim: 30 }
  let models: string[]

  beforeAll(async () => {
    const file = async (name: string, arch: string, edits: unknown[]) => {
      await writeFile(scratch(name), mutated(fuzzModel({ spec: { arch, ...spec } }), edits))
      return scratch(name)
    }
    models = [
      // llama-vocab.cpp counts its tokens
      await file('twice.gguf', 'llama', [['item', 'tokenizer.ggml.tokens', 7, 'A']]),
      // a graph that does not fit together
      await file('wide.gguf', 'gpt-oss', [['set', 'gpt-oss.attention.value_length', 'u32', 15]]),
      // rope turns pairs: an op's own check, on all threads of a computation
      await file('odd.gguf', 'gemma2', [
        ['set', 'gemma2.attention.key_length', 'u32', 15],
        ['set', 'gemma2.attention.value_length', 'u32', 15],
        ['set', 'gemma2.attention.head_count', 'u32', 8],
        ['set', 'gemma2.attention.head_count_kv', 'u32', 4],
        ['drop', 'gemma2.rope.dimension_count'],
      ]),
      await tinyModel(),
    ]

    // what ggml would attach to the process
    await mkdir(scratch('bin'))
    await writeFile(scratch('bin/gdb'), `#!/bin/sh\necho called > ${scratch('gdb-was-called')}\n`)
    await chmod(scratch('bin/gdb'), 0o755)
    process.env.PATH = `${scratch('bin')}${delimiter}${path}`
    return () => {
      process.env.PATH = path
    }
  })

  it('with a code, without a debugger, and beside a context that works on', async () => {
    const { code, signal, stdout, stderr } = await runFixture('assertions.mjs', [...models, 'stay'])
    expect({ code, signal }, stderr).toEqual({ code: 0, signal: null })
    const gaveUp = 'ERR_H2O_DECODE_FAILED'
    expect(JSON.parse(stdout)).toEqual({
      codes: ['ERR_H2O_MODEL_INVALID', 'ERR_H2O_CONTEXT_CREATE', gaveUp, gaveUp, gaveUp],
      same: true,
    })
    await expect(readFile(scratch('gdb-was-called'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('and it can end while a call is being lost', async () => {
    for (let i = 0; i < 5; i++) {
      const { code, signal } = await runFixture('assertions.mjs', [...models, 'exit'])
      expect({ code, signal }).toEqual({ code: 0, signal: null })
    }
  })
})
