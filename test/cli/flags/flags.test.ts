import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { compareOptions } from '../../../src/ts/cli/compare/options.js'
import { doctorOptions } from '../../../src/ts/cli/doctor/options.js'
import { contextOptions, contextSize, generateOptions } from '../../../src/ts/cli/flags/flags.js'
import { modelFlagOptions, modelOptions } from '../../../src/ts/cli/flags/model-flags.js'
import { type RunFlags, runOptions } from '../../../src/ts/cli/flags/options.js'
import { inspectOptions } from '../../../src/ts/cli/inspect/options.js'
import { parseArgv } from '../../../src/ts/cli/program.js'
import { serveOptions } from '../../../src/ts/cli/serve/options.js'
import type { Model } from '../../../src/ts/index.js'

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

  it('takes keys of sparse decoding, and refuses them without H2O', () => {
    for (const [given, decode] of [
      ['auto', 'auto'],
      ['0', 0],
      ['300', 300],
    ]) {
      expect(contextOf(`--h2o-decode ${given}`).h2o).toEqual({ schedule: 'single-pass', decode })
    }
    for (const wrong of ['-1', 'all', '1.5', '2000000000']) {
      expect(() => contextOf(`--h2o-decode ${wrong}`)).toThrow(/--h2o-decode/)
    }
    expect(() => contextOf('--h2o-decode 300 --no-h2o')).toThrow(/--h2o-decode is for contexts with H2O/)
    expect(contextOf('--h2o-decode 0 --no-h2o').h2o).toBe(false)
  })

  it('takes -tb from -t, and all cores for a count of none', () => {
    expect(contextOf('-t 3')).toMatchObject({ nThreads: 3, nThreadsBatch: 3 })
    expect(contextOf('-t 3 -tb 5')).toMatchObject({ nThreads: 3, nThreadsBatch: 5 })
    expect(contextOf('-t 0')).toMatchObject({ nThreads: availableParallelism() })
  })
})

it.each(
  Object.entries({ runOptions, serveOptions, compareOptions, inspectOptions, doctorOptions }),
)('%s have every flag that says how a model is loaded', (_, options) => {
  expect(options).toEqual(expect.arrayContaining([...modelFlagOptions]))
  const names = options.flatMap((option) => option.names)
  expect(names).toHaveLength(new Set(names).size)
})

describe('modelOptions', () => {
  it('maps files and layers', () => {
    expect(modelOptions(parse('-m x.gguf'))).toEqual({ path: 'x.gguf', loadMode: 'auto' })
    expect(modelOptions(parse('-m x.gguf -ngl 7 --mlock --no-mmap'))).toEqual({
      path: 'x.gguf',
      loadMode: 'mlock',
      nGpuLayers: 7,
    })
    expect(modelOptions(parse('-m x.gguf --mlock -lm dio')).loadMode).toBe('dio')
    expect(modelOptions(parse('-m x.gguf -ngl all')).nGpuLayers).toBeGreaterThan(1000)
    expect(modelOptions(parse('-m x.gguf -ngl -1'))).not.toHaveProperty('nGpuLayers')
  })
})

describe('modelOptions, in the notation of llama.cpp', () => {
  it.each([
    ['-dev none', { devices: [] }],
    [
      '-dev CUDA0,CUDA1 -sm row -ts 3/1 -mg 1',
      { devices: ['CUDA0', 'CUDA1'], splitMode: 'row', tensorSplit: [3, 1], mainGpu: 1 },
    ],
    [
      '-ot exps=CPU,a.*b=CUDA0 -ot x=CPU',
      {
        overrideTensors: [
          { pattern: 'exps', buffer: 'CPU' },
          { pattern: 'a.*b', buffer: 'CUDA0' },
          { pattern: 'x', buffer: 'CPU' },
        ],
      },
    ],
    ['-cmoe', { cpuMoe: true }],
    ['-ncmoe 3 -ncffn 2', { cpuMoe: 3, cpuFfn: 2 }],
    [
      '--lora a.gguf,"b,""c"".gguf" --lora-scaled C:\\d.gguf:0.5',
      { loras: [{ path: 'a.gguf' }, { path: 'b,"c".gguf' }, { path: 'C:\\d.gguf', scale: 0.5 }] },
    ],
    [
      '--override-kv a.b=int:-1,c=float:2.5 --override-kv d=bool:true,e=str:a=b:c',
      {
        overrideKv: [
          { key: 'a.b', type: 'int', value: -1 },
          { key: 'c', type: 'float', value: 2.5 },
          { key: 'd', type: 'bool', value: true },
          { key: 'e', type: 'str', value: 'a=b:c' },
        ],
      },
    ],
  ])('%s', (line, expected) => {
    expect(modelOptions(parse(line))).toMatchObject(expected)
  })

  it.each([
    '-dev ,',
    '-dev CUDA0,',
    '-sm half',
    '-ts 1,x',
    '-ts -1',
    '-mg -1',
    '-ot exps',
    '-ot =CPU',
    '-ot a=',
    '-ncmoe -1',
    '--lora ,',
    '--lora-scaled a.gguf',
    '--lora-scaled a.gguf:x',
    '--override-kv a',
    '--override-kv a=int:1.5',
    '--override-kv a=bool:1',
    '--override-kv =int:1',
    '--override-kv a=list:1',
    '-lm fast',
  ])('refuses %s', (line) => {
    expect(() => parse(line)).toThrow(expect.objectContaining({ code: 'ERR_CLI_USAGE' }))
  })

  it('names the item that is wrong', () => {
    for (const [line, item] of [
      ['-ts 1,x,3', "'x': Not a number."],
      ['--rpc a:1,b', "'b': Servers are expected, as host:port."],
      ['-ot a=CPU,exps', "'exps': PATTERN=BUFFER is expected."],
      ['--lora-scaled a.gguf:1,b.gguf:-x', "'b.gguf:-x': Not a number."],
      ['--override-kv a=int:1,b=bool:yes', "'b=bool:yes': true or false is expected."],
    ] as const) {
      expect(() => parse(line)).toThrow(item)
    }
  })
})

describe('generateOptions', () => {
  it("has llama.cpp's defaults, and leaves the rest to the API", () => {
    expect(generateOptions(parse())).toEqual({
      nPredict: -1,
      temperature: 0.8,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      seed: -1,
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

  it('drafts, but not what is decoded sparsely', () => {
    expect(generateOptions(parse('--spec-type ngram-simple --h2o-decode 0'))).toMatchObject({
      specType: 'ngram-simple',
    })
    expect(() => generateOptions(parse('--spec-type ngram-simple --h2o-decode 8'))).toThrow('all keys')
  })
})
