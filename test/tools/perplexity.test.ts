// llama-perplexity over a text in long windows: sparse by default, off it is the unpatched pin. The pin's answer comes
// from stock-logits (test/parity/stock): what llama-perplexity makes of logits is not patched, and is done here again.

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { calls, h2oLines, letters, modelFile, type Outcome, run, scratch, textFile } from './support.js'

const STOCK = fileURLToPath(new URL('../../build-stock/bin/stock-logits', import.meta.url))

// two windows of 8 chunks, in calls of 4
const WINDOW = 1024
const N_WINDOWS = 2
const sizes = ['-c', String(WINDOW), '-b', '512', '-ub', '128', '-fa', 'on']
const budget = ['--h2o-local', '40', '--h2o-heavy', '30']
const off = ['--h2o-local', '0', '--h2o-heavy', '0']

const text = letters(N_WINDOWS * WINDOW)

async function perplexity(model: string, ...args: string[]): Promise<Outcome> {
  const outcome = await run('llama-perplexity', [
    '-m',
    model,
    '-f',
    textFile(text),
    '--no-warmup',
    ...sizes,
    ...args,
  ])
  expect(outcome.status, outcome.stderr).toBe(0)
  return outcome
}

/** The perplexity after each window, as printed. */
const estimates = ({ stdout }: Outcome) =>
  [...stdout.matchAll(/\[\d+\](\d+\.\d+)/g)].map(([, value]) => Number(value))

/** Logits of one window by the unpatched pin, one array per token. */
async function stockLogits(model: string, window: string): Promise<Float32Array[]> {
  const input = scratch('tokens')
  const output = scratch('logits')
  writeFileSync(input, Int32Array.from(Buffer.from(window)))
  await promisify(execFile)(STOCK, [model, input, output, ...sizes, '-t', '1', '--all'])
  const bytes = readFileSync(output)
  const nVocab = bytes.byteLength / 4 / window.length
  return Array.from(
    window,
    (_, i) => new Float32Array(bytes.buffer, bytes.byteOffset + 4 * i * nVocab, nVocab),
  )
}

/** What llama-perplexity saves of a token's logits: 65536 steps between the largest and 16 below it. */
function quantized(logits: Float32Array): number[] {
  const f = Math.fround
  const max = logits.reduce((a, b) => Math.max(a, b))
  const min = logits.reduce((a, b) => Math.min(a, b))
  const floor = Math.max(min, f(max - 16))
  const inverse = f(1 / f(f(max - floor) / 65535))
  const nearest = (x: number) => f(x + 12582912) - 12582912
  return Array.from(logits, (x) => (x > floor ? nearest(f(inverse * f(x - floor))) : 0))
}

/** The tokens of the windows' second halves, as saved with --save-all-logits. */
function readSaved(path: string): number[][] {
  const bytes = readFileSync(path)
  expect(bytes.toString('latin1', 0, 8)).toBe('_logits_')
  const nVocab = bytes.readInt32LE(12)
  const words = 4 + 2 * Math.ceil(nVocab / 2)
  const begin = 20 + 4 * N_WINDOWS * WINDOW
  const nTokens = (bytes.byteLength - begin) / 2 / words
  return Array.from({ length: nTokens }, (_, i) => {
    const at = begin + 2 * words * i + 8
    return Array.from({ length: nVocab }, (_, j) => bytes.readUInt16LE(at + 2 * j))
  })
}

test('off, it is the unpatched pin', async () => {
  const model = await modelFile()
  const saved = scratch('saved')
  const outcome = await perplexity(model, ...off, '--save-all-logits', saved)

  const expected: number[][] = []
  for (let w = 0; w < N_WINDOWS; w++) {
    const window = text.slice(w * WINDOW, (w + 1) * WINDOW)
    const logits = await stockLogits(model, window)
    for (let i = WINDOW / 2; i < WINDOW - 1; i++) {
      expected.push(quantized(logits[i] as Float32Array))
    }
  }

  expect(readSaved(saved)).toEqual(expected)
  expect(h2oLines(outcome)).toEqual([])
})

test.each([
  ['--h2o-schedule', 'single-pass'],
  ['--h2o-schedule', 'two-pass'],
  ['--h2o-select', 'query'],
])('sparse, %s %s', async (...way) => {
  const model = await modelFile()
  const sparse = await perplexity(model, ...budget, ...way)
  expect(calls(sparse)).toEqual(['h2o (4 calls, 2048 tokens)'])

  const dense = await perplexity(model, ...off)
  expect(calls(dense)).toEqual([])
  expect(estimates(sparse)).toHaveLength(N_WINDOWS)
  expect(estimates(sparse)).not.toEqual(estimates(dense))
})

test('single-pass does not depend on -b', async () => {
  const model = await modelFile()
  const single = estimates(await perplexity(model, ...budget))
  const whole = estimates(await perplexity(model, ...budget, '-b', '1024'))
  expect(whole).toEqual(single.map((value) => expect.closeTo(value, 1)))
})

test('the default window of 512 is never sparse, and the line at start says so', async () => {
  const outcome = await run('llama-perplexity', ['-m', await modelFile(), '-f', textFile(text), '-c', '512'])
  expect(h2oLines(outcome)[0]).toContain('can be sparse: multi-sequence')
})
