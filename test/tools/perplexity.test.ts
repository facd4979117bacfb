// llama-perplexity over a text in long windows: sparse by default, off it is the unpatched pin. The pin's answer comes
// from stock-logits (test/parity/stock): what llama-perplexity makes of logits is not patched, and is done here again.

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { main } from '../../src/ts/cli/main.js'
import { savedDeviation } from '../../src/ts/cli/saved-logits/deviation.js'
import type { SavedRow } from '../../src/ts/cli/saved-logits/format.js'
import { SavedLogits } from '../../src/ts/cli/saved-logits/reader.js'
import { memoryIo } from '../cli/support/memory-io.js'
import { calls, h2oLines, letters, modelFile, type Outcome, run, scratch, textFile } from './support.js'

const STOCK = fileURLToPath(new URL('../../build-stock/bin/stock-logits', import.meta.url))

// two windows of 8 chunks, in calls of 4
const WINDOW = 1024
const N_WINDOWS = 2
const sizes = ['-c', String(WINDOW), '-b', '512', '-ub', '128', '-fa', 'on']
const budget = ['--h2o-local', '40', '--h2o-heavy', '30']
const off = ['--h2o-local', '0', '--h2o-heavy', '0']

const text = letters(N_WINDOWS * WINDOW)

async function inWindows(model: string, ...args: string[]): Promise<Outcome> {
  const outcome = await run('llama-perplexity', ['-m', model, '-f', textFile(text), '--no-warmup', ...args])
  expect(outcome.status, outcome.stderr).toBe(0)
  return outcome
}

const perplexity = (model: string, ...args: string[]) => inWindows(model, ...sizes, ...args)

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

test('off, it is the unpatched pin', async () => {
  const model = await modelFile()
  const saved = scratch('saved')
  const outcome = await perplexity(model, ...off, '--save-all-logits', saved)

  const file = await SavedLogits.open(saved)
  expect(file.head).toMatchObject({ nCtx: WINDOW, nWindows: N_WINDOWS })
  for (let w = 0; w < N_WINDOWS; w++) {
    const window = text.slice(w * WINDOW, (w + 1) * WINDOW)
    const rows = await file.rows(w, WINDOW / 2, WINDOW - 1)
    const logits = (await stockLogits(model, window)).slice(WINDOW / 2, -1)
    const same = logits.map((row, i) => savedDeviation(rows[i] as SavedRow, row, 0, row.length, 0).identical)
    expect(same).toEqual(rows.map(() => true))
  }
  await file.dispose()
  expect(h2oLines(outcome)).toEqual([])
})

test('it takes the file that h2o-prefill saved, and finds the same divergence', async () => {
  const model = await modelFile()
  const saved = scratch('saved')
  const flags = ['-m', model, '-ub', '128', '-b', '512', '-t', '1', '-fa', 'on', ...budget]
  const parity = async (...argv: string[]) => {
    const io = memoryIo()
    const code = await main(
      ['parity', ...flags, '--h2o-select', 'votes', '--max-kld', '10', '--json', ...argv],
      io,
    )
    expect(code, io.stderr.text).toBe(0)
    return JSON.parse(io.stdout.text)
  }
  await parity('-c', String(WINDOW), '-f', textFile(text), '--save-all-logits', saved)
  const { kld, ppl, ppl_dense, same_top_percent } = (await parity('--kl-divergence-base', saved)).h2o.prompt

  const base = ['--kl-divergence', '--kl-divergence-base', saved]
  const { stdout } = await perplexity(model, ...base, ...budget, '--h2o-select', 'votes')
  const printed = (label: string) => Number(new RegExp(`${label} *: *([-\\d.]+)`).exec(stdout)?.[1])
  expect(printed('Mean +KLD')).toBeCloseTo(kld.mean.value, 5)
  expect(printed('Maximum KLD')).toBeCloseTo(kld.max, 4)
  expect(printed('Mean PPL\\(Q\\)')).toBeCloseTo(ppl.value, 1)
  expect(printed('Mean PPL\\(base\\)')).toBeCloseTo(ppl_dense.value, 1)
  expect(printed('Same top p')).toBeCloseTo(same_top_percent.value, 2)
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

test('the default windows, four in a call, are one chunk each, and dense', async () => {
  const outcome = await inWindows(await modelFile(), '-c', '512')
  expect(h2oLines(outcome)[0]).toContain('can be sparse: batch-too-small')
  expect(calls(outcome)).toEqual(['h2o (0 calls, 0 tokens), dense batch-too-small (1 call, 2048 tokens)'])
})

test('two windows in a call that is longer than each may be are sparse', async () => {
  const outcome = await inWindows(await modelFile(), '-c', '512', '-b', '1024', '-ub', '256', ...budget)
  expect(calls(outcome)).toEqual(['h2o (2 calls, 2048 tokens)'])
})
