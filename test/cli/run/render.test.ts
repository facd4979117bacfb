import { describe, expect, it } from 'vitest'
import { toJson } from '../../../src/ts/cli/run/json.js'
import { decodeLine, memoryLines, prefillLine } from '../../../src/ts/cli/run/summary.js'
import { exitCodeOf } from '../../../src/ts/cli/shell/exit-codes.js'
import { createProgress } from '../../../src/ts/cli/shell/progress.js'
import { reportError } from '../../../src/ts/cli/shell/report-error.js'
import { UsageError } from '../../../src/ts/cli/shell/usage-error.js'
import { denseCall, generateSummary, h2oInfo, prefillResult, sparseCall } from '../support/fake-api.js'
import { MemoryStream } from '../support/memory-io.js'

const context = { nBatch: 12, nUbatch: 4, nCtx: 100, h2o: h2oInfo }

describe('prefillLine', () => {
  it('names the sparse path with its sizes', () => {
    expect(prefillLine(prefillResult(), context)).toBe(
      'prefill: 12 tokens, h2o (single-pass, votes, 3 chunks of 4, L=2 H=1), 1 call, 9 ms, 1412 tok/s',
    )
  })

  it('names the dense path with its reason, in words', () => {
    expect(prefillLine(prefillResult([denseCall]), context)).toBe(
      'prefill: 3 tokens, dense (one-chunk: the call holds no more than one chunk of 4 tokens), 1 call, 9 ms, 1412 tok/s',
    )
  })

  it('says how much sooner than dense it was, where that was predicted', () => {
    const line = (gain: number) => prefillLine(prefillResult(), context, gain)
    expect(line(2.36)).toMatch(/1412 tok\/s, about 2\.4 times as soon as dense \(predicted\)$/)
    expect(line(1.04)).toMatch(/1412 tok\/s, no sooner than dense \(predicted\)$/)
  })

  it('counts a dense tail', () => {
    const tail = { ...denseCall, pos: 12 }
    const result = { ...prefillResult([sparseCall, tail]), denseTail: 3 }
    expect(prefillLine(result, context)).toContain(
      'h2o (single-pass, votes, 3 chunks of 4, L=2 H=1, then 3 tokens dense), 2 calls',
    )
  })
})

it('decodeLine', () => {
  const summary = generateSummary(prefillResult(), ['a', 'b'])
  expect(decodeLine(summary)).toBe('decode: 2 tokens, 20 ms, 100 tok/s, first token after 10 ms (-n reached)')
  expect(decodeLine({ ...summary, predicted: 0, stop: 'eos' })).toBe(
    'decode: 0 tokens, 20 ms (the model ended)',
  )
  summary.timings.predictedExact = true
  expect(decodeLine(summary)).toContain('decode: 2 tokens, exact kernel, 20 ms')
  summary.timings.predictedDenseReason = 'few-positions'
  expect(decodeLine(summary)).toContain('decode: 2 tokens, exact kernel, all keys: few-positions, 20 ms')
  Object.assign(summary.timings, { predictedExact: false, predictedSparse: 1 })
  expect(decodeLine(summary)).toContain('decode: 2 tokens, 1 of them sparse, all keys: few-positions, 20 ms')
  summary.timings.predictedDenseReason = null
  expect(decodeLine(summary)).toContain('decode: 2 tokens, sparse, 20 ms')
  Object.assign(summary.timings, { predictedSparse: 0, draftN: 15, draftNAccepted: 4 })
  expect(decodeLine(summary)).toContain('decode: 2 tokens, 4 of 15 drafted, 20 ms')
})

it('memoryLines', () => {
  const memory = {
    h2oStateBytes: 1000,
    h2oIndexBytes: 0,
    h2oIntraBytes: 0,
    kvBytes: 100_000,
    computeBytes: 5 * 2 ** 20,
    sparseComputeBytes: 3 * 2 ** 20,
    sparseGraphNodes: 77,
  }
  expect(memoryLines({ ...context, memory })).toEqual([
    'memory: kv cache 100000 bytes (0.095 MiB) for 100 tokens',
    'memory: persistent h2o buffers 1000 bytes (0.001 MiB, 1.00 % of the kv cache)',
    'memory: compute buffers 5242880 bytes (5.0 MiB)',
    'memory: of which a sparse call needs 3145728 bytes (3.0 MiB)',
    'graph: 77 nodes for a sparse call, chunk 4, L=2 H=1',
  ])
  const h2o = { ...h2oInfo, covered: false, reason: 'off' as const }
  expect(memoryLines({ ...context, h2o, memory }).at(-1)).toBe('graph: no sparse call in this context (off)')
})

describe('toJson', () => {
  it('is the object of the contract, name by name', () => {
    const summary = generateSummary(prefillResult(), ['he', 'llo'])
    expect(toJson({ model: 'm.gguf', loadMs: 1.23456, context, summary, gain: 2.34567 })).toEqual({
      model: 'm.gguf',
      prompt_n: 12,
      cache_n: 0,
      path: 'h2o',
      reason: null,
      schedule: 'single-pass',
      select: 'votes',
      chunks: 3,
      dense_tail: 0,
      gain_predicted: 2.346,
      calls: [{ n: 12, pos: 0, path: 'h2o', reason: null, inherited: 0, exact: false }],
      n_batch: 12,
      n_ubatch: 4,
      h2o: { local: 2, heavy: 1, decode: 0 },
      timings: {
        load_ms: 1.235,
        prompt_ms: 8.5,
        prompt_per_second: 1411.765,
        ttft_ms: 9.75,
        predicted_n: 2,
        predicted_ms: 20,
        predicted_per_second: 100,
        predicted_exact: false,
        predicted_sparse: 0,
        predicted_dense_reason: null,
      },
      text: 'hello',
    })
  })

  it('has no number that JSON lacks', () => {
    const summary = generateSummary(prefillResult(), [])
    summary.timings.predictedPerSecond = Number.NaN
    const object = toJson({ model: 'm', loadMs: 1, context, summary, gain: undefined })
    expect(object).toMatchObject({
      gain_predicted: null,
      timings: { ttft_ms: null, predicted_per_second: 0 },
    })
  })
})

describe('progress', () => {
  const second = { ...sparseCall, pos: 12 }

  it('is one plain line per call where there is no terminal', () => {
    const stderr = new MemoryStream()
    const progress = createProgress(stderr, 24)
    progress.update({ done: 6, total: 24, call: null })
    progress.update({ done: 12, total: 24, call: sparseCall })
    progress.update({ done: 24, total: 24, call: second })
    progress.end()
    expect(stderr.text).toBe('prefill: 12/24 tokens (12 at 0, h2o)\nprefill: 24/24 tokens (12 at 12, h2o)\n')
  })

  it('is a bar on a terminal, and gone at the end', () => {
    const stderr = new MemoryStream(true)
    let now = 0
    const progress = createProgress(stderr, 24, () => now)
    now = 900
    progress.update({ done: 6, total: 24, call: null })
    expect(stderr.text).not.toContain('left')
    now = 1500
    progress.update({ done: 12, total: 24, call: sparseCall })
    expect(stderr.text).toContain(`[${'#'.repeat(18)}${'.'.repeat(18)}]  12/24  8.0 tok/s  h2o  2 s left`)
    now = 100_000
    progress.update({ done: 12, total: 24, call: sparseCall })
    expect(stderr.text).toContain('h2o  1:40 min left')
    progress.update({ done: 24, total: 24, call: sparseCall })
    expect(stderr.text.split('\r').at(-1)).not.toContain('left')
    progress.end()
    progress.end()
    expect(stderr.text.split('\r').at(-1)).toBe('\x1b[2K')
    for (const line of stderr.text.split('\r\x1b[2K')) expect(line.length).toBeLessThan(80)
  })

  it('fits a narrow terminal', () => {
    const stderr = new MemoryStream(true)
    stderr.columns = 30
    createProgress(stderr, 24).update({ done: 12, total: 24, call: sparseCall })
    expect(stderr.text).not.toContain('[#')
  })
})

describe('exitCodeOf', () => {
  it.each([
    ['ERR_CLI_USAGE', 2],
    ['ERR_H2O_INVALID_ARGUMENT', 2],
    ['ERR_H2O_EMPTY_PROMPT', 2],
    ['ERR_H2O_MODEL_NOT_FOUND', 3],
    ['ERR_H2O_MODEL_INVALID', 3],
    ['ERR_H2O_NO_BINARY', 4],
    ['ERR_H2O_CONTEXT_MEMORY', 5],
    ['ERR_H2O_PROMPT_TOO_LONG', 5],
    ['ERR_H2O_DECODE_FAILED', 1],
    ['EIO', 1],
  ])('%s is %i', (code, expected) => {
    expect(exitCodeOf(Object.assign(new Error(), { code }))).toBe(expected)
  })

  it('is 1 for anything else', () => {
    expect(exitCodeOf(new Error())).toBe(1)
    expect(exitCodeOf(undefined)).toBe(1)
  })
})

describe('reportError', () => {
  const report = (error: unknown, verbose = false) => {
    const stderr = new MemoryStream()
    reportError(error, stderr, verbose)
    return stderr.text
  }

  it('is a line and a hint', () => {
    expect(report(new UsageError('a\n  b', 'c'))).toBe('h2o-prefill: error: a b\nh2o-prefill: hint: c\n')
    expect(report(new UsageError('a'))).toBe('h2o-prefill: error: a\n')
    expect(report('text')).toBe('h2o-prefill: error: text\n')
  })

  it('names the code of an error of ours, and keeps the stack for -v', () => {
    const error = Object.assign(new Error('no'), {
      code: 'ERR_H2O_MODEL_INVALID',
      details: { log: 'native' },
    })
    expect(report(error)).toBe('h2o-prefill: error: no [ERR_H2O_MODEL_INVALID]\n')
    expect(report(error, true)).toMatch(/\]\nnative\nError: no\n +at /)
  })
})
