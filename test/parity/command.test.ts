// `h2o-prefill parity`, against the unpatched pin and against files that were saved of it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../../src/ts/cli/main.js'
import { writeModel } from '../../src/ts/model-maker/index.js'
import { memoryIo } from '../cli/support/memory-io.js'
import { type Fixtures, makeFixtures } from '../cli/support/models.js'

let f: Fixtures
const at = (name: string) => join(f.folder, name)
const sizes = '-c 512 -ub 64 -t 2'.split(' ')
const budget = '--h2o-local 24 --h2o-heavy 24'.split(' ')

async function cli(command: string, ...argv: string[]) {
  const io = memoryIo()
  const code = await main([command, ...argv], io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const parity = (...argv: string[]) => cli('parity', '-m', f.model, ...sizes, ...budget, ...argv)

beforeAll(async () => {
  f = await makeFixtures()
  const saved = await parity(
    '-f',
    await f.text(1100),
    '--save-all-logits',
    at('stock.logits'),
    '--max-kld',
    '10',
  )
  expect(saved.code, saved.err).toBe(0)
})
afterAll(() => f.remove())

test.each([
  '',
  '-fa on -ctk f32 -ctv f32',
  '-fa off -b 512',
])('off it is stock to the bit, on it is near: %s', async (line) => {
  const flags = line.split(' ').filter(Boolean)
  const junit = at('junit.xml')
  const limits = ['--max-kld', '1', '--max-ppl-ratio', '2', '--min-top1', '1']
  const { code, out, err } = await parity(
    '-f',
    await f.text(1100),
    '--json',
    '--junit',
    junit,
    ...limits,
    ...flags,
  )
  expect(code, err).toBe(0)
  const report = JSON.parse(out)
  expect(report).toMatchObject({
    reference: { kind: 'stock', path: expect.stringContaining('stock-logits') },
    n_windows: 2,
    n_window: 512,
    first: 256,
    passed: true,
    off: { reason: 'off', prompt: { n: 510, identical: 510, kld: { max: 0 } } },
    h2o: { path: 'h2o', prompt: { n: 510 } },
  })
  expect(report.h2o.prompt.kld.mean.value).toBeGreaterThan(1e-4)
  expect(report.tolerances).toHaveLength(4)
  const xml = readFileSync(junit, 'utf8')
  expect(xml).toContain('tests="4" failures="0"')
  expect(xml.match(/<testcase /g)).toHaveLength(4)
})

test('a tolerance of H2O that does not hold is 6, on stderr and in the JUnit report', async () => {
  const junit = at('miss.xml')
  const { code, out, err } = await parity('-f', await f.text(600), '--max-kld', '1e-6', '--junit', junit)
  expect(code).toBe(6)
  expect(out).toMatch(/^ok {4}H2O off: 255 of 255 /m)
  expect(out).toMatch(/^MISS {2}H2O on: /m)
  expect(err).toMatch(/^h2o-prefill: tolerance: H2O on: /m)
  expect(readFileSync(junit, 'utf8')).toMatch(
    /name="h2o --max-kld">\n\s*<failure message="H2O on: [^"<]*"\/>/,
  )
})

test('a file saved of stock has its text, and holds the same model to be the same', async () => {
  const report = async (...argv: string[]) => {
    const base = ['--kl-divergence-base', at('stock.logits'), '--json']
    const { code, out } = await cli(
      'parity',
      '-m',
      f.model,
      '-ub',
      '64',
      '-t',
      '2',
      ...budget,
      ...base,
      ...argv,
    )
    return { code, ...JSON.parse(out) }
  }
  const whole = await report('--max-kld', '10')
  expect(whole).toMatchObject({
    code: 0,
    reference: { kind: 'file' },
    n_windows: 2,
    off: { prompt: { n: 510, identical: 510 } },
  })
  const live = JSON.parse((await parity('-f', await f.text(1100), '--json', '--max-kld', '10')).out)
  expect(whole.h2o.prompt.kld.mean.value).toBeCloseTo(live.h2o.prompt.kld.mean.value, 4)
  expect(await report('--no-h2o', '--chunks', '1')).toMatchObject({ code: 0, h2o: null, n_windows: 1 })
})

test('another quantisation of the model is found', async () => {
  const model = at('q8_0.gguf')
  await writeModel(model, { arch: 'llama', hidden: 64, heads: 4, type: 'q8_0' })
  const base = ['--kl-divergence-base', at('stock.logits'), '--json', '--no-h2o']
  const strict = await cli('parity', '-m', model, '-ub', '64', ...base, '--max-off-kld', '1e-6')
  expect(strict.code).toBe(6)
  const { off } = JSON.parse(strict.out)
  expect(off.prompt.identical).toBe(0)
  expect(off.prompt.kld.mean.value).toBeGreaterThan(1e-6)
})

test('compare saves the same file, and takes it in place of its dense context', async () => {
  const compare = async (...argv: string[]) => {
    const flags = ['-m', f.model, '-n', '0', ...sizes, '--h2o-local', '24', '--h2o-heavy', '16,24', '--json']
    const { code, out, err } = await cli('compare', ...flags, ...argv)
    expect(code, err).toBe(0)
    return JSON.parse(out)
  }
  const text = await f.text(1100)
  const live = await compare('-f', text, '--skip', '256', '--save-all-logits', at('dense.logits'))
  expect(readFileSync(at('dense.logits')).equals(readFileSync(at('stock.logits')))).toBe(true)
  const base = await compare('-f', text, '--kl-divergence-base', at('dense.logits'))
  for (const i of [0, 1]) {
    const [a, b] = [live.rows[i].prompt, base.rows[i].prompt]
    expect(b.n).toBe(a.n)
    expect(b.kld.mean.value).toBeCloseTo(a.kld.mean.value, 4)
    expect(b.ppl_dense.value).toBeCloseTo(a.ppl_dense.value, 2)
  }
})

test('what is wrong has a code of its own', async () => {
  const file = await f.text(1100)
  const other = at('other.txt')
  writeFileSync(other, readFileSync(file, 'utf8').replaceAll('e', 'x'))
  const larger = at('larger.gguf')
  await writeModel(larger, { arch: 'llama', hidden: 64, heads: 4, vocab: 400 })
  const base = ['--kl-divergence-base', at('stock.logits')]
  // biome-ignore format: a table
  const wrong: [string[], number, string][] = [
    [['-f', file, '--stock', at('nothing')], 4, 'ERR_H2O_NO_BINARY'],
    [['-m', larger, ...base], 2, 'ERR_H2O_LOGITS_FILE'],
    [['-f', other, ...base], 2, 'ERR_H2O_LOGITS_FILE'],
    [['--kl-divergence-base', f.model], 2, 'ERR_H2O_LOGITS_FILE'],
    [['--kl-divergence-base', at('nothing')], 2, 'ERR_H2O_LOGITS_FILE'],
    [['-f', file, '--save-all-logits', at('no/where')], 2, 'ERR_H2O_LOGITS_FILE'],
    [[...base, '-c', '256'], 2, '-c 512'],
    [[...base, '--save-all-logits', at('x')], 2, '--kl-divergence-base'],
    [['-f', file, '--junit', at('no/where')], 2, '--junit'],
    [['-f', file, '-b', '64'], 2, 'none would be sparse'],
    [['-f', file, '--stock', process.execPath], 1, 'h2o-prefill: error: '],
  ]
  for (const [argv, code, text] of wrong) {
    const found = await parity(...argv)
    expect({ argv, code: found.code, out: found.out }).toEqual({ argv, code, out: '' })
    expect(found.err).toContain(text)
  }
  expect([at('x'), at('x.part')].map((path) => existsSync(path))).toEqual([false, false])
})
