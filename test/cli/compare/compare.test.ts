// `compare` on the real addon with tiny models of random weights.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../../src/ts/cli/compare/outcome.js'
import { main } from '../../../src/ts/cli/main.js'
import { createContext } from '../../../src/ts/index.js'
import { demoText, writeModel } from '../../../src/ts/model-maker/index.js'
import { memoryIo } from '../support/memory-io.js'
import { type Fixtures, makeFixtures } from '../support/models.js'
import { spawnCli, start } from '../support/spawn.js'

let f: Fixtures
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

async function cli(...argv: string[]) {
  const io = memoryIo()
  const code = await main(['compare', ...argv], io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const sizes = '-c 512 -ub 64 -n 60'.split(' ')
const budget = '--h2o-local 8 --h2o-heavy 8'.split(' ')

async function rows(...argv: string[]): Promise<Row[]> {
  const { code, out, err } = await cli('-m', f.model, ...sizes, '--json', ...argv)
  expect(code, err).toBe(0)
  return JSON.parse(out).rows
}

/** What the prompt's figures lie at. */
const summary = ({ prompt }: Row) => ({ ratio: prompt?.ppl_ratio.value, kld: prompt?.kld.mean.value })

describe('compare', () => {
  it('finds no difference at all where H2O is off', async () => {
    const [row] = await rows('-f', await f.text(1100), '--h2o-local', '0', '--h2o-heavy', '0')
    expect(row).toMatchObject({ path: 'dense', reason: 'off', sparse_n: 0, prompt_n: 2 * 452 })
    for (const part of [row?.prompt, row?.continuation]) {
      expect(part).toMatchObject({
        ppl_ratio: { value: 1, uncertainty: 0 },
        kld: { mean: { value: 0 }, max: 0 },
        same_top_percent: { value: 100 },
      })
    }
  })

  async function findsWhatIsLost(schedule: string) {
    const text = await f.text(512)
    const run = async (local: number, heavy: number) => {
      const h2o = ['--h2o-local', String(local), '--h2o-heavy', String(heavy), '--h2o-schedule', schedule]
      return (await rows('-f', text, ...h2o))[0] as Row
    }
    const [small, large] = [await run(2, 2), await run(32, 31)]
    expect(small).toMatchObject({ schedule, path: 'h2o', reason: null, chunks: 8, sparse_n: 452 })
    expect(small.calls).toMatchObject([
      { n: 192, pos: 0, path: 'h2o', inherited: 0 },
      { n: 192, pos: 192, path: 'h2o', inherited: 4 },
      { n: 68, pos: 384, path: 'h2o', inherited: 4 },
    ])
    expect(small.prompt?.n).toBe(452 - 64)
    expect(small.continuation?.n).toBe(59)
    expect(summary(small).kld).toBeGreaterThan(0.1)
    expect(summary(large).kld).toBeLessThan(summary(small).kld as number)
    expect(small.prompt?.same_top_percent.value).toBeLessThan(90)
    // the cache holds what sparse attention wrote into it
    expect(small.continuation?.kld.mean.value).toBeGreaterThan(1e-3)
  }
  const finds = 'finds what a small budget loses, and more than a large one'
  it(`single-pass: ${finds}`, () => findsWhatIsLost('single-pass'))
  it(`two-pass: ${finds}`, { tags: ['ways'] }, () => findsWhatIsLost('two-pass'))

  it('finds next to nothing where nothing is left out: in the first chunk', async () => {
    const [row] = await rows(
      '-f',
      await f.text(512),
      ...budget,
      '--skip',
      '0',
      '-fa',
      'off',
      '-ctk',
      'f32',
      '-ctv',
      'f32',
    )
    const inFirst = row?.by_position_in_prompt[0]
    expect(inFirst).toMatchObject({ from: 0, n: 57, same_top_percent: 100, ppl_ratio: expect.closeTo(1, 4) })
    expect(inFirst?.kld).toBeLessThan(1e-6)
    expect(row?.by_position_in_prompt[2]?.kld).toBeGreaterThan(0.01)
  })

  it('has the dense perplexity of the logits that prefill() gives', async () => {
    const text = demoText(512)
    const [row] = await rows('-f', await f.text(512), ...budget, '-n', '0', '--skip', '100', '-t', '1')
    const context = await createContext({
      model: f.model,
      nCtx: 512,
      nBatch: 192,
      nUbatch: 64,
      h2o: false,
      nThreads: 1,
    })
    const { logits } = await context.prefill(text, { logits: 'all' })
    await context.dispose()
    const nVocab = (logits as Float32Array).length / 512
    let nll = 0
    for (let i = 100; i < 511; i++) {
      const row = Array.from((logits as Float32Array).subarray(i * nVocab, (i + 1) * nVocab), Math.exp)
      nll -= Math.log((row[text.charCodeAt(i + 1)] as number) / row.reduce((a, b) => a + b, 0))
    }
    expect(row?.prompt?.n).toBe(411)
    expect(row?.prompt?.ppl_dense.value).toBeCloseTo(Math.exp(nll / 411), 5)
  })

  it('compares every combination, whatever its chunk, over the same positions', async () => {
    const h2o = '-ub 32,64 --h2o-local 4,8 --h2o-heavy 8 --h2o-schedule single-pass,two-pass'.split(' ')
    const found = await rows('-f', await f.text(512), ...h2o)
    expect(found.map(({ n_ubatch, schedule, h2o }) => [n_ubatch, schedule, h2o.local])).toEqual([
      [32, 'single-pass', 4],
      [32, 'single-pass', 8],
      [32, 'two-pass', 4],
      [32, 'two-pass', 8],
      [64, 'single-pass', 4],
      [64, 'single-pass', 8],
      [64, 'two-pass', 4],
      [64, 'two-pass', 8],
    ])
    expect(new Set(found.map(({ prompt }) => prompt?.n))).toEqual(new Set([452 - 64]))
    expect(new Set(found.map(({ path }) => path))).toEqual(new Set(['h2o']))
    // two-pass stores keys and values of phase 1, which never meets the memory
    expect(found[7]?.continuation).toEqual(found[6]?.continuation)
  })

  it('compares selections', async () => {
    const h2o = '-ub 128 --h2o-local 16 --h2o-heavy 16 --h2o-select votes,query'.split(' ')
    const [votes, query] = await rows('-f', await f.text(512), ...h2o)
    expect([votes, query]).toMatchObject([
      { select: 'votes', path: 'h2o', sparse_n: 452 },
      { select: 'query', path: 'h2o', sparse_n: 452 },
    ])
    expect(summary(query as Row).kld).toBeGreaterThan(0)
    expect(summary(query as Row)).not.toEqual(summary(votes as Row))
  })

  it('does not depend on what is compared beside it', async () => {
    const text = await f.text(512)
    const [alone] = await rows('-f', text, '--h2o-local', '8', '--h2o-heavy', '4')
    const beside = await rows('-f', text, '--h2o-local', '16,8', '--h2o-heavy', '4')
    expect(beside[1]).toEqual(alone)
  })

  it('puts BOS at the begin of every window where the model wants one', async () => {
    const model = join(f.folder, 'bos.gguf')
    await writeModel(model, { arch: 'llama', hidden: 64, heads: 4, addBos: true })
    const { code, out } = await cli('-m', model, '-f', await f.text(1023), ...sizes, ...budget, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ n_tokens: 1024, n_windows: 2 })
  })
})

describe('exit codes', () => {
  it('is 6 where a threshold does not hold, with the report', async () => {
    const argv = ['-m', f.model, '-f', await f.text(512), ...sizes, ...budget]
    const limits = ['--max-kld', '1e-4', '--min-top1', '99.9', '--max-ppl-ratio', '1e6']
    const { code, out, err } = await spawnCli(['compare', ...argv, ...limits])
    expect(code).toBe(6)
    expect(out).toContain('Mean    KLD')
    expect(err.match(/^h2o-prefill: threshold: --(max-kld|min-top1) /gm)).toHaveLength(4)
    expect((await cli(...argv, '--max-kld', '1e4', '--min-top1', '0')).code).toBe(0)
  })

  it.each([
    ['an empty name of a model', async () => ['-m', '', '-p', 'x'], 2, /no model was given/],
    ['a missing model', async () => ['-m', '/nowhere.gguf', '-p', 'x'], 3, /ERR_H2O_MODEL_NOT_FOUND/],
    ['a missing text', async () => ['-m', f.model, '-f', '/nowhere.txt'], 2, /no such file/],
    [
      'a short text',
      async () => ['-m', f.model, '-f', await f.text(500)],
      2,
      /the text has 500 tokens, too few/,
    ],
    [
      'a model that H2O does not serve',
      async () => ['-m', f.refused, '-f', await f.text(3000)],
      1,
      /unsupported-attention/,
    ],
  ])('%s', async (_, argv, expected, message) => {
    const { code, out, err } = await cli(...(await argv()))
    expect([code, out], err).toEqual([expected, ''])
    expect(err).toMatch(message)
  })

  it('is 130 at Ctrl-C inside a call', async () => {
    const argv = ['-m', f.slowModel, '-f', await f.text(30000), '-c', '30000']
    const { child, ended, says } = start(['compare', ...argv])
    await says('1536/30000 tokens')
    child.kill('SIGINT')
    const { code, out, err } = await ended
    expect([code, out]).toEqual([130, ''])
    expect(err).toMatch(/interrupted\n$/)
  })

  it('answers --help', async () => {
    const { code, out } = await cli('--help')
    expect(code).toBe(0)
    for (const text of [
      'compare [-m FILE] -f FILE',
      '--max-continuation-ppl-ratio X',
      '6 a threshold',
      '-ub',
    ]) {
      expect(out).toContain(text)
    }
  })

  it('takes the text from a pipe and as it is', async () => {
    const file = join(f.folder, 'escapes.txt')
    await writeFile(file, '\\n'.repeat(300))
    const count = async (...argv: string[]) =>
      JSON.parse((await cli('-m', f.model, '-ub', '64', '-n', '8', '-f', file, '--json', ...argv)).out)
        .n_tokens
    expect([await count(), await count('-e')]).toEqual([600, 300])
    const piped = await spawnCli(['compare', '-m', f.model, '-ub', '64', '-n', '8', '--json'], demoText(400))
    expect(JSON.parse(piped.out).n_tokens).toBe(400)
  })
})
