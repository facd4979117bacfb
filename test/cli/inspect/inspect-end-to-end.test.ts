// `inspect` on the real addon with tiny models.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { main } from '../../../src/ts/cli/main.js'
import { memoryIo } from '../support/memory-io.js'
import { type Fixtures, makeFixtures } from '../support/models.js'
import { start } from '../support/spawn.js'

let f: Fixtures
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

const sizes = '-b 384 -ub 128 --h2o-local 32 --h2o-heavy 32 --h2o-dense-tail 0'.split(' ')

async function cli(...argv: string[]) {
  const io = memoryIo()
  const code = await main(['inspect', ...argv], io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const query = { schedule: 'single-pass', select: 'query', n_mem: 32, n_sets: 2 }
const ways = [
  { schedule: 'single-pass', select: 'votes', n_mem: 64, n_sets: 1 },
  { schedule: 'two-pass', select: 'votes', n_mem: 64, n_sets: 1 },
]

function sharesOut({ schedule, select, ...memory }: typeof query) {
  it('shares out all of the mass of every chunk, twice the same', async () => {
    const file = join(f.folder, `${schedule}-${select}.html`)
    const text = await f.text(1000)
    const argv = ['-m', f.model, '-f', text, '-o', file, '--json', ...sizes]
    const way = ['--h2o-schedule', schedule, '--h2o-select', select]
    const { code, out, err } = await cli(...argv, ...way)
    expect(code, err).toBe(0)
    const report = JSON.parse(out)
    expect(report).toMatchObject({
      schedule,
      select,
      prompt_n: 1000,
      dense_tail: 0,
      n_layer: 2,
      h2o: { local: 32, heavy: 32 },
      mean: { run_jaccard_min: 1 },
    })
    expect(report.chunks.map(({ pos }: { pos: number }) => pos)).toEqual([
      0, 128, 256, 384, 512, 640, 768, 896,
    ])
    for (const layer of report.layers) {
      expect(layer.heads).toHaveLength(report.n_heads)
      for (const { chunks } of layer.heads) {
        expect(chunks[0]).toMatchObject({ own: 1, coverage: 1, oracle: 1, lost: 0, n_mem: 0 })
        for (const chunk of chunks.slice(1)) {
          const { own, local, heavy, lost, coverage, oracle, sink, run_jaccard } = chunk
          expect(chunk).toMatchObject(memory)
          expect(run_jaccard).toBe(1)
          expect(own + local + heavy + lost).toBeCloseTo(1, 5)
          expect(own + local + heavy).toBeCloseTo(coverage, 5)
          expect(coverage).toBeLessThanOrEqual(oracle + 1e-6)
          for (const share of [own, local, heavy, lost, sink]) expect(share).toBeGreaterThan(0)
        }
      }
    }
    const page = readFileSync(file, 'utf8')
    expect(page).toMatch(/<\/html>\n$/)
    expect(page.includes('<b>score</b>')).toBe(select === 'votes')
  })
}
describe.each([query])('$schedule $select', sharesOut)
describe.each(ways)('$schedule $select', { tags: ['ways'] }, sharesOut)

it('is of the layers without a window, by their numbers in the model', async () => {
  const file = join(f.folder, 'windows.html')
  const argv = ['-m', f.windows, '-f', await f.text(600), '-o', file, ...sizes]
  const { code, out, err } = await cli(...argv)
  expect(code, err).toBe(0)
  expect(out).toMatch(/; 1 layer of \d+ heads$/m)
  expect(out.match(/^ +(?:\d+|all) /gm)?.map((row) => row.trim())).toEqual(['5', 'all'])
  expect(readFileSync(file, 'utf8').match(/<summary>Layer \d+/g)).toEqual(['<summary>Layer 5'])

  const { layers, n_layer } = JSON.parse((await cli(...argv, '--json', '--runs', '1')).out)
  expect([n_layer, layers.map(({ layer }: { layer: number }) => layer)]).toEqual([1, [5]])
})

it('ends with 2 for a prompt of one chunk, and says what would do', async () => {
  const file = join(f.folder, 'short.html')
  const { code, out, err } = await cli('-m', f.model, '-f', await f.text(100), '-o', file, ...sizes)
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/error: the prompt has 100 tokens, no more than one chunk \(-ub 128\)/)
  expect(err).toMatch(/hint: give a longer prompt, or a smaller -ub: -ub 25 makes 4 chunks or more/)
  expect(existsSync(file)).toBe(false)
})

it('ends with 1 for a model that H2O does not serve', async () => {
  const { code, err } = await cli('-m', f.refused, '-f', await f.text(300), '-o', '/dev/null', ...sizes)
  expect(code).toBe(1)
  expect(err).toMatch(/nothing to inspect, the prefill is dense \(unsupported-\w+: /)
})

it('ends with 130 at Ctrl-C inside a prefill', async () => {
  const argv = ['inspect', '-m', f.slowModel, '-f', await f.text(20000), '-o', '/dev/null', '-ub', '256']
  const { child, ended, says } = start(argv)
  await says('prefill: 2048/20000')
  child.kill('SIGINT')
  const { code, out } = await ended
  expect([code, out]).toEqual([130, ''])
})
