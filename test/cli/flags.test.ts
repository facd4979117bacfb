import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import {
  contextOptions,
  contextSize,
  generateOptions,
  modelOptions,
  type RunFlags,
} from '../../src/ts/cli/flags.js'
import { runOptions } from '../../src/ts/cli/options.js'
import { parseArgv } from '../../src/ts/cli/program.js'
import type { Model } from '../../src/ts/index.js'

const spec = { usage: '', description: '', options: runOptions, version: '', notes: '' }
const parse = (line = '') =>
  parseArgv<RunFlags>(line.split(' ').filter(Boolean), spec).flags as RunFlags & { model: string }
const model = { nCtxTrain: 32768 } as Model
const contextOf = (line: string, nPrompt = 100) => contextOptions(parse(line), model, nPrompt, () => {})

describe('contextSize', () => {
  it.each([
    [{ predict: 16 }, 12000, 12016],
    [{ predict: 0 }, 12000, 12000],
    [{ predict: -1 }, 12000, 16096],
    [{ predict: 16 }, 40000, 32768],
    [{ predict: -1 }, 32000, 32768],
    [{ predict: 16 }, 500, 1025],
    [{ predict: 16, ctxSize: 512 }, 12000, 512],
    [{ predict: 16, ctxSize: 0 }, 12000, 0],
  ])('%j with %i tokens is %i', (flags, nPrompt, expected) => {
    expect(contextSize({ ubatchSize: 1024, ...flags }, nPrompt, 32768)).toBe(expected)
  })
})

describe('contextOptions', () => {
  it('leaves out what was not given, so that the API knows', () => {
    const options = contextOf('-n 16')
    expect(options).toMatchObject({ model, nCtx: 513, nBatch: 2048, nUbatch: 512, flashAttn: 'auto' })
    expect(options.h2o).toEqual({ schedule: 'single-pass' })
    expect(options).not.toHaveProperty('nThreads')
  })

  it('passes what was given', () => {
    expect(contextOf('-ctk q8_0 -ctv f32 -fa off --h2o-local 0 --h2o-heavy 3')).toMatchObject({
      typeK: 'q8_0',
      typeV: 'f32',
      flashAttn: 'off',
      h2o: { local: 0, heavy: 3 },
    })
    expect(contextOf('--no-h2o --h2o-local 3').h2o).toBe(false)
  })

  it('takes -tb from -t, and all cores for a count of none', () => {
    expect(contextOf('-t 3')).toMatchObject({ nThreads: 3, nThreadsBatch: 3 })
    expect(contextOf('-t 3 -tb 5')).toMatchObject({ nThreads: 3, nThreadsBatch: 5 })
    expect(contextOf('-t 0')).toMatchObject({ nThreads: availableParallelism() })
  })
})

describe('modelOptions', () => {
  it('maps files and layers', () => {
    expect(modelOptions(parse('-m x.gguf'))).toEqual({ path: 'x.gguf', useMmap: true, useMlock: false })
    expect(modelOptions(parse('-m x.gguf -ngl 7 --mlock --no-mmap'))).toEqual({
      path: 'x.gguf',
      useMmap: false,
      useMlock: true,
      nGpuLayers: 7,
    })
    expect(modelOptions(parse('-m x.gguf -ngl all')).nGpuLayers).toBeGreaterThan(1000)
    expect(modelOptions(parse('-m x.gguf -ngl -1'))).not.toHaveProperty('nGpuLayers')
  })
})

describe('generateOptions', () => {
  it("has llama.cpp's defaults", () => {
    expect(generateOptions(parse())).toEqual({
      nPredict: -1,
      temperature: 0.8,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      seed: -1,
      stop: [],
      ignoreEos: false,
    })
  })

  it("takes llama.cpp's spellings of off and greedy", () => {
    expect(generateOptions(parse('-n -2 --temp -1 --top-k -1'))).toMatchObject({
      nPredict: -1,
      temperature: 0,
      topK: 0,
    })
    expect(generateOptions(parse('-s 0')).seed).toBe(0)
  })
})
