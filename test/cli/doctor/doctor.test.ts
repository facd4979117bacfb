// `doctor` on the real addon: what works, what is served densely, and what is missing.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { main } from '../../../src/ts/cli/main.js'
import { memoryIo } from '../support/memory-io.js'
import { type Fixtures, makeFixtures } from '../support/models.js'
import { root, spawnCli } from '../support/spawn.js'

let f: Fixtures
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

async function doctor(...argv: string[]) {
  const io = memoryIo()
  const code = await main(['doctor', ...argv], io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('doctor', () => {
  it('tries a sparse prefill of the model in the box', async () => {
    const { code, out, err } = await doctor()
    expect(code, err).toBe(0)
    const names = out.trimEnd().split('\n')
    expect(names.map((line) => line.split(' ')[0])).toEqual(
      expect.arrayContaining(['h2o-llama', 'processor', 'binary', 'features', 'device', 'model', 'trial']),
    )
    expect(out).toMatch(/^binary +\S.*h2o_llama\.node$/m)
    expect(out).toMatch(/^device +CPU: .* \(cpu\)/m)
    expect(out).toMatch(
      /^trial +prefill: 256 tokens, h2o \(single-pass, query, 3 chunks of 64, L=16 H=16, then 64 tokens dense\)/m,
    )
    expect(err).toContain('no -m: using the recall model')
  })

  it('says the same to programs, with the flags of the context', async () => {
    const flags = ['-m', f.model, '--h2o-schedule', 'two-pass', '-ctk', 'f32', '-ctv', 'bf16', '-t', '1']
    const { code, out, err } = await doctor(...flags, '--json')
    expect(code, err).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      node: process.version,
      binary: expect.stringContaining('h2o_llama.node'),
      devices: expect.arrayContaining([expect.objectContaining({ name: 'CPU', type: 'cpu' })]),
      model: { path: f.model },
      trial: {
        prompt_n: 256,
        path: 'h2o',
        reason: null,
        schedule: 'two-pass',
        select: 'votes',
        chunks: 4,
        finite: true,
      },
    })
  })

  it('says why a model is served densely', async () => {
    const { code, out } = await doctor('-m', f.refused)
    expect(code).toBe(0)
    expect(out).toMatch(/^trial +prefill: 256 tokens, dense \(unsupported-\w+: /m)
    expect(out).toMatch(/^layers +2: 0 sparse, 2 dense$/m)
    expect(out).toMatch(/^gain +none$/m)
    expect(out).not.toMatch(/^(quality|answer) /m)
  })

  it('says which layers are sparse, and what that should gain', async () => {
    const { code, out, err } = await doctor('-m', f.windows)
    expect(code, err).toBe(0)
    expect(out).toMatch(/^layers +6: 1 sparse \(5\), 5 with a sliding window$/m)
    expect(out).toMatch(
      /^gain +predicted for -ub 1024, L=128 H=640, against dense: [\d.]+ at 8192, [\d.]+ at 32768, [\d.]+ at 131072 tokens$/m,
    )
    expect(out).toMatch(/^quality +\d+ query heads? to a KV head; inside of \d+ tokens /m)
    expect(out).toMatch(
      /^answer +predicted on a CPU, .*: \S+ to \S+ behind 8192, \S+ to \S+ behind 32768, \S+ to \S+ behind 131072 tokens; with --h2o-decode auto: \S+ to \S+, /m,
    )
  })

  it('tells what it knows before what failed: the model', async () => {
    const { code, out, err } = await doctor('-m', '/nowhere/model.gguf')
    expect(code).toBe(3)
    expect(out).toMatch(/^device /m)
    expect(out).not.toMatch(/^trial /m)
    expect(err).toContain('there is no file /nowhere/model.gguf')
  })

  it.each([
    '/nowhere/h2o_llama.node',
    join(root, 'package.json'),
  ])('tells what it knows before what failed: the binary %s', async (path) => {
    const env = { H2O_LLAMA_BINARY: path }
    const { code, out, err } = await spawnCli(['doctor', '--json'], '', { env })
    expect(code).toBe(4)
    expect(JSON.parse(out)).toMatchObject({ node: process.version, binary: null, devices: [], trial: null })
    expect(err).toContain('H2O_LLAMA_BINARY')
  })
})
