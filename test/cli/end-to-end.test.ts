// The CLI on the real addon with tiny models. In this process where only streams matter; as a process where signals,
// pipes and the log level, which is the whole process's, do.
import { execFileSync } from 'node:child_process'
import { cp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { main } from '../../src/ts/cli/main.js'
import { memoryIo } from './support/memory-io.js'
import { type Fixtures, makeFixtures } from './support/models.js'
import { root, spawnCli, start } from './support/spawn.js'

let f: Fixtures
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

async function cli(argv: string[], stdin?: string) {
  const io = memoryIo({ stdin })
  const code = await main(argv, io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

async function json(argv: string[]) {
  const { code, out, err } = await cli([...argv, '--json', '--temp', '0', '--ignore-eos'])
  expect([code, err.includes('error')], err).toEqual([0, false])
  return JSON.parse(out)
}

const sizes = '-b 4096 -ub 1024 --h2o-local 256 --h2o-heavy 256 --h2o-dense-tail 0'.split(' ')

describe('the main job', () => {
  it('prefills 12,000 tokens sparsely in 12 chunks and three calls', async () => {
    const result = await json(['-m', f.model, '-f', await f.text(12000), '-n', '16', ...sizes])
    expect(result).toMatchObject({
      model: f.model,
      prompt_n: 12000,
      cache_n: 0,
      path: 'h2o',
      reason: null,
      schedule: 'single-pass',
      chunks: 12,
      dense_tail: 0,
      n_batch: 4096,
      n_ubatch: 1024,
      h2o: { local: 256, heavy: 256 },
      text: expect.stringMatching(/./),
    })
    expect(result.calls).toEqual([
      { n: 4096, pos: 0, path: 'h2o', reason: null, inherited: 0, exact: false },
      { n: 4096, pos: 4096, path: 'h2o', reason: null, inherited: 512, exact: false },
      { n: 3808, pos: 8192, path: 'h2o', reason: null, inherited: 512, exact: false },
    ])
    const { predicted_exact, predicted_sparse, predicted_dense_reason, ...timings } = result.timings
    expect([predicted_exact, predicted_sparse, predicted_dense_reason]).toEqual([true, 0, 'off'])
    expect(timings.predicted_n).toBe(16)
    expect(timings.ttft_ms).toBeGreaterThanOrEqual(timings.prompt_ms * 0.99)
    for (const value of Object.values(timings)) expect(value).toBeGreaterThan(0)
  })

  it('prefills them densely with --no-h2o', async () => {
    const result = await json(['-m', f.model, '-f', await f.text(12000), '-n', '1', ...sizes, '--no-h2o'])
    expect(result).toMatchObject({ path: 'dense', reason: 'off', chunks: 0, h2o: { local: 0, heavy: 0 } })
    expect(result.calls.map((call: { path: string }) => call.path)).toEqual(['dense', 'dense', 'dense'])
  })

  it('prefills 500 tokens densely, as one chunk', async () => {
    const result = await json(['-m', f.model, '-f', await f.text(500), '-n', '1', ...sizes])
    expect(result).toMatchObject({ path: 'dense', reason: 'one-chunk', calls: [{ n: 500, pos: 0 }] })
  })

  it('cuts 8,692 tokens so that no dense tail arises', async () => {
    const result = await json(['-m', f.model, '-f', await f.text(8692), '-n', '0', ...sizes])
    expect(result.calls.map((call: { n: number }) => call.n)).toEqual([4096, 3072, 1524])
    expect(result).toMatchObject({ path: 'h2o', dense_tail: 0, text: '', timings: { ttft_ms: null } })
  })

  it('names the reason for a model that H2O does not serve', async () => {
    const file = await f.text(2000)
    const { code, err } = await cli(['-m', f.refused, '-f', file, '-n', '1', '-ub', '512'])
    expect(code).toBe(0)
    expect(err).toMatch(/prefill: 2000 tokens, dense \(unsupported-\w+: /)
  })
})

describe('the model in the box', () => {
  it('serves where -m is left out, and finds what stands thousands of tokens back', async () => {
    const filler = 'The grass is green. The sky is blue. Here we go. There and back again.\n'.repeat(70)
    const key = 'The pass key is 48213. Remember it: the pass key is 48213.\n'
    const prompt = `${filler}${key}${filler}What is the pass key? The pass key is`
    const h2o = ['-b', '2048', '-ub', '512', '--h2o-dense-tail', '64']
    const { code, out, err } = await cli(['-n', '6', '--temp', '0', ...h2o], prompt)
    expect(code, err).toBe(0)
    expect(out).toBe(' 48213')
    expect(err).toContain('no -m: using the recall model')
    expect(err).toMatch(/prefill: \d{4} tokens, h2o \(/)
  })
})

describe('a prompt of 20 MB', () => {
  it.each([
    'run',
    'compare',
    'inspect',
  ])('leaves %s at Ctrl-C while it is turned into tokens', async (command) => {
    const { child, ended, says } = start([command, '-f', await f.text(2e7)])
    await says('no -m: using the recall model')
    await sleep(500)
    child.kill('SIGINT')
    const begin = performance.now()
    const { code, out, err } = await ended
    expect([code, out]).toEqual([130, ''])
    expect(err).toMatch(/interrupted\n$/)
    expect(performance.now() - begin).toBeLessThan(2000)
  })
})

describe('text and sizes', () => {
  it('streams the text that --json holds, and repeats it with a seed', async () => {
    const argv = ['-m', f.model, '-p', 'Once upon a time', '-n', '24', '-s', '7', '--ignore-eos']
    const streamed = await cli(argv)
    const whole = await cli([...argv, '--json'])
    expect(streamed.code).toBe(0)
    expect(streamed.out).toBe(JSON.parse(whole.out).text)
    expect(streamed.out).not.toBe('')
  })

  it('reads the prompt from a pipe', async () => {
    const { code, err } = await cli(['-m', f.model, '-n', '1'], 'piped\n')
    expect(code).toBe(0)
    expect(err).toContain('prefill: 5 tokens')
  })

  it('prints with -v what H2O holds, and that it does not grow with -c', async () => {
    const sizesAt = async (nCtx: number) => {
      const { err } = await spawnCli([
        '-m',
        f.model,
        '-p',
        'x',
        '-n',
        '0',
        '-v',
        '-c',
        String(nCtx),
        ...sizes,
      ])
      const bytes = (name: string) => Number(new RegExp(`${name} (\\d+) bytes`).exec(err)?.[1])
      return {
        kv: bytes('kv cache'),
        state: bytes('persistent h2o buffers'),
        compute: bytes('compute buffers'),
        nodes: Number(/graph: (\d+) nodes/.exec(err)?.[1]),
      }
    }
    const [small, large] = [await sizesAt(16384), await sizesAt(32768)]
    expect(large.kv).toBe(2 * small.kv)
    // an index of the cache
    expect(large.state).toBe(2 * small.state)
    expect(small.state).toBeGreaterThan(0)
    expect(small.state).toBeLessThanOrEqual(0.05 * small.kv)
    expect(large.nodes).toBe(small.nodes)
    expect(small.nodes).toBeGreaterThan(0)
  })

  it('clamps L and H with one warning', async () => {
    const argv = [
      '-m',
      f.model,
      '-p',
      'x',
      '-n',
      '0',
      '-ub',
      '256',
      '--h2o-local',
      '200',
      '--h2o-heavy',
      '200',
      '--h2o-select',
      'votes',
    ]
    const { code, err } = await cli(argv)
    expect(code).toBe(0)
    expect(err.match(/warning/g)).toHaveLength(1)
    const silent = await cli(['-m', f.model, '-p', 'x', '-n', '0'])
    expect(silent.err).not.toContain('warning')
  })
})

describe('failures', () => {
  it.each([
    ['a missing model', () => ['-m', `${f.folder}/none.gguf`, '-p', 'x'], 3, 'ERR_H2O_MODEL_NOT_FOUND'],
    ['a text as model', () => ['-m', f.notAModel, '-p', 'x'], 3, 'ERR_H2O_MODEL_INVALID'],
    ['a truncated model', () => ['-m', f.truncated, '-p', 'x'], 3, 'ERR_H2O_MODEL_INVALID'],
    [
      'a prompt above -c',
      () => ['-m', f.model, '-p', 'x'.repeat(600), '-c', '512'],
      5,
      'ERR_H2O_PROMPT_TOO_LONG',
    ],
  ])('%s', async (_, argv, expected, errorCode) => {
    const { code, out, err } = await cli(argv())
    expect([code, out], err).toEqual([expected, ''])
    expect(err).toMatch(/^h2o-prefill: error: /m)
    expect(err).toContain(`[${errorCode}]`)
    expect(err).not.toMatch(/^ +at /m)
  })

  it('names both counts of a prompt that is too long', async () => {
    const { err } = await cli(['-m', f.model, '-p', 'x'.repeat(600), '-c', '512'])
    expect(err).toContain('600')
    expect(err).toContain('512')
  })

  it('shows the stack with -v', async () => {
    const { err } = await spawnCli(['-m', `${f.folder}/none.gguf`, '-p', 'x', '-v'])
    expect(err).toMatch(/^ +at /m)
  })
})

describe('as a process', () => {
  it('gives text to stdout and nothing else', async () => {
    const { code, out, err } = await spawnCli(
      ['-m', f.model, '-n', '8', '--temp', '0', '--ignore-eos'],
      'Hello\n',
    )
    expect(code, err).toBe(0)
    expect(out).not.toBe('')
    expect(out).not.toContain('prefill')
    expect(err).toContain('prefill: 5 tokens, dense (one-chunk: ')
  })

  it.skipIf(process.platform === 'win32')(
    'ends the text with its line where stderr goes to the same pipe',
    () => {
      const program = `"${process.execPath}" "${join(root, 'bin/h2o-prefill.js')}"`
      const flags = `-m "${f.model}" -p Hello -n 4 --ignore-eos --temp 0`
      const inOne = (ending: string) =>
        execFileSync('/bin/sh', ['-c', `${program} ${flags} ${ending}`], { encoding: 'utf8', stdio: 'pipe' })
      const text = inOne('2>/dev/null')
      expect(inOne('2>&1')).toContain(`${text}${text.endsWith('\n') ? '' : '\n'}prefill: 5 tokens, `)
    },
  )

  it('ends with 2 where nothing is on stdin', async () => {
    const { code, err } = await spawnCli(['-m', f.model])
    expect(code).toBe(2)
    expect(err).toContain('the prompt is empty')
  })

  it('ends with 4 where no binary was built', async () => {
    const home = join(f.folder, 'package')
    for (const part of ['bin', 'binary.cjs', 'dist', 'package.json'])
      await cp(join(root, part), join(home, part), { recursive: true })
    await symlink(join(root, 'node_modules'), join(home, 'node_modules'))
    const { code, out, err } = await spawnCli(['-m', f.model, '-p', 'x'], '', { home })
    expect([code, out], err).toEqual([4, ''])
    expect(err).toContain('[ERR_H2O_NO_BINARY]')
    expect(err).toContain('hint: build it: npx h2o-prefill build')
  })

  it("takes llama.cpp's environment variables", async () => {
    const env = { LLAMA_ARG_MODEL: f.model, LLAMA_ARG_N_PREDICT: '0' }
    const { code, err } = await spawnCli([], 'Hello', { env })
    expect(code, err).toBe(0)
    expect(err).not.toContain('decode')
  })

  it('ends with 130 at Ctrl-C inside a prefill', async () => {
    const { child, ended, says } = start([
      '-m',
      f.slowModel,
      '-f',
      await f.text(30000),
      '-n',
      '4',
      '--no-h2o',
    ])
    await says('prefill: 2048/30000')
    child.kill('SIGINT')
    const { code, out, err } = await ended
    expect([code, out]).toEqual([130, ''])
    expect(err).toMatch(/interrupted after \d+ of 30000 prompt tokens/)
  })

  it('keeps the text that there was at Ctrl-C', async () => {
    const { child, ended } = start(['-m', f.slowModel, '-p', 'Hello', '-n', '20000', '--ignore-eos'])
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.kill('SIGINT')
    const { code, out, err } = await ended
    expect(code).toBe(130)
    expect(out).not.toBe('')
    expect(err).toMatch(/interrupted after \d+ generated token/)
  })

  it('ends quietly when its reader leaves', async () => {
    const { child, ended } = start(['-m', f.model, '-p', 'Hello', '-n', '20000', '--ignore-eos'])
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.stdout.destroy()
    const { code, signal, err } = await ended
    expect([code, signal]).toEqual([0, null])
    expect(err).not.toContain('rror')
  })
})

describe('a grammar', () => {
  const sample = (...argv: string[]) =>
    cli(['-m', f.model, '-p', 'Say:', '-n', '200', '--temp', '2', ...argv])

  it('decides what is said', async () => {
    const schema =
      '{"type":"object","properties":{"size":{"type":"integer","minimum":1,"maximum":9}},"required":["size"]}'
    const { code, out, err } = await sample('-j', schema, '--repeat-penalty', '1.1', '-l', '65-inf')
    expect([code, Object.keys(JSON.parse(out))]).toEqual([0, ['size']])
    expect(err).toContain('the model ended')
    const grammar = 'root ::= "abc"'
    expect(await sample('--grammar', grammar, '--ignore-eos')).toMatchObject({ code: 0, out: 'abc' })
  })

  it('that takes long is left at Ctrl-C', async () => {
    const properties = Array.from({ length: 9000 }, (_, i) => [`p${i}`, { type: 'string', pattern: '^a$' }])
    const file = join(f.folder, 'patterns.json')
    const schema = { properties: Object.fromEntries(properties), required: properties.map(([name]) => name) }
    await writeFile(file, JSON.stringify(schema))
    const { child, ended, says } = start(['-m', f.model, '-p', 'Say:', '-jf', file, '-v'])
    await says('n_ctx')
    await sleep(1000)
    child.kill('SIGINT')
    const begin = performance.now()
    expect((await ended).code).toBe(130)
    expect(performance.now() - begin).toBeLessThan(2000)
  })

  it('that is none is a usage error', async () => {
    for (const argv of [
      ['--grammar', 'root ::= ('],
      ['-j', '{"type":"thing"}'],
      ['-l', '99999999+1'],
    ]) {
      expect((await sample(...argv)).code, argv[0]).toBe(2)
    }
  })
})
