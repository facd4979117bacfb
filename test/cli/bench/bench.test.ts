// `bench` as a process, on tiny models, against stock-bench (npm run build:stock).

import { cpSync, mkdtempSync, symlinkSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../../src/ts/cli/bench/rows.js'
import { type Fixtures, makeFixtures } from '../support/models.js'
import { root, spawnCli, start } from '../support/spawn.js'

let f: Fixtures
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

const sizes = '-b 1024 -ub 256 --h2o-local 64 --h2o-heavy 64 --h2o-dense-tail 0'.split(' ')
const bench = (...argv: string[]) => spawnCli(['bench', ...argv])

describe('bench', () => {
  it('measures every contender in a process of its own', { tags: ['stock'] }, async () => {
    const { code, out, err } = await bench(
      '-m',
      f.model,
      ...sizes,
      '-p',
      '200,1100',
      '-r',
      '2',
      '-o',
      'jsonl',
      '--contenders',
      'stock,dense,h2o,h2o-query,h2o-two-pass',
    )
    expect(code, err).toBe(0)
    const rows: Row[] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const row = (contender: string, n: number) =>
      rows.find((one) => one.contender === contender && one.n_prompt === n) as Row

    for (const one of rows) {
      expect(one.ttft_ms.median).toBeGreaterThan(0)
      expect(one.cpu_ms?.median).toBeGreaterThan(0)
      expect(one.peak_rss_bytes).toBeGreaterThan(2 ** 20)
      expect(one.speedup?.median).toBeGreaterThan(0)
      expect(one.against).toMatch(/^stock-fa-(on|off) -b 1024 -ub (512|1024)$/)
    }
    expect(row('h2o', 200)).toMatchObject({ path: 'dense', reason: 'one-chunk' })
    for (const contender of ['h2o', 'h2o-query', 'h2o-two-pass']) {
      const one = row(contender, 1100)
      expect(one).toMatchObject({ path: 'h2o', chunks: 5, dense_tail: 0, calls: [768, 332], n: 2 })
      expect(one).toMatchObject({ h2o: { local: 64, heavy: 64 } })
      expect(one.h2o_bytes).toBeGreaterThan(0)
      expect(one.base_rss_bytes).toBeLessThan(one.peak_rss_bytes as number)
    }
    expect(row('dense', 1100)).toMatchObject({ path: 'dense', reason: 'off', h2o: null })
    // the same prompt everywhere
    expect(row('dense', 1100).first_token).toBe(row('stock-fa-on', 1100).first_token)
    expect(err).toMatch(/bench: 1100 tokens, 2\/2: h2o -b 1024 -ub 256, /)
  })

  it('prints a table, with where the time of stock goes', { tags: ['stock'] }, async () => {
    const argv = ['-p', '700', '-r', '1', '--profile', '--contenders', 'stock-fa-on,h2o', '--prune', '0']
    const { code, out, err } = await bench('-m', f.model, ...sizes, ...argv)
    expect(code, err).toBe(0)
    const [, , head, , ...rows] = out.trim().split('\n')
    expect(head).toContain('| linear % | intra % |')
    expect(rows).toHaveLength(3)
    const [linear = 0, intra, , , attention = 0, other = 0] =
      rows[0]?.split('|').slice(-7, -1).map(Number) ?? []
    expect(linear + attention + other).toBeCloseTo(100, 0)
    expect(Math.min(linear, attention, other)).toBeGreaterThan(0)
    expect(intra).toBe(0)
  })

  it('without stock-bench, as in an installed package, speed-ups are against dense attention', async () => {
    const home = mkdtempSync(join(f.folder, 'installed-'))
    for (const name of ['bin', 'binary.cjs', 'dist', 'package.json'])
      cpSync(join(root, name), join(home, name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'))
    const argv = ['bench', '-m', f.model, ...sizes, '-p', '700', '-r', '1', '-o', 'jsonl']
    const env = { H2O_LLAMA_BINARY: join(root, 'build/Release/h2o_llama.node') }
    const { code, out, err } = await spawnCli(argv, '', { home, env })
    expect(code, err).toBe(0)
    expect(err).toContain('stock llama.cpp is left out, and speed-ups are against dense attention')
    const rows: Row[] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(rows.map(({ contender }) => contender)).toEqual(['dense', 'h2o', 'h2o-query'])
    for (const { against, speedup } of rows) {
      expect(against).toBe('dense -b 1024 -ub 256')
      expect(speedup?.median).toBeGreaterThan(0)
    }
  })

  it('takes the prompt from a file, over and over', async () => {
    const argv = ['-m', f.model, ...sizes, '-p', '600', '-r', '1', '--contenders', 'h2o', '-o', 'csv']
    const { code, out } = await bench(...argv, '-f', await f.text(500))
    expect(code).toBe(0)
    expect(out.trim().split('\n')).toHaveLength(2)
  })

  it.each([
    [2, ['--contenders', 'nobody'], "'nobody' is none of"],
    [2, ['--stock', '/nowhere/stock-bench'], '--stock: there is no /nowhere/stock-bench'],
    [2, ['-p', '5-3'], 'is no range'],
    [3, ['-m', '/nowhere.gguf'], 'ERR_H2O_MODEL_NOT_FOUND'],
    [2, ['-f', '/nowhere.txt'], 'cannot read the text /nowhere.txt: no such file'],
  ])('ends with %i for %j', async (status, argv, message) => {
    const { code, out, err } = await bench('-m', f.model, '-p', '64', '--contenders', 'dense', ...argv)
    expect([code, out]).toEqual([status, ''])
    expect(err).toContain(message)
  })

  it.each([
    'SIGINT',
    'SIGTERM',
  ] as const)('ends with 130 on %s, and leaves nothing behind', async (signal) => {
    const temporary = join(f.folder, signal)
    await mkdir(temporary)
    const argv = ['-m', f.slowModel, '-p', '30000', '--contenders', 'dense', '-r', '9', '-b', '512']
    const { child, ended, says } = start(['bench', ...argv, '-p', '64,30000'], { env: { TMPDIR: temporary } })
    await says('1/9: dense')
    expect(await readdir(temporary)).toHaveLength(1)
    child.kill(signal)
    const { code, err } = await ended // with the pipes that a child of it would hold
    expect(code).toBe(130)
    expect(err).toContain('interrupted')
    expect(await readdir(temporary)).toEqual([])
  })
})
