// `serve` as a process: its flags, its signals, and how it ends.
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { demoText } from '../../../src/ts/model-maker/index.js'
import { runNode } from '../../ts/support.js'
import { type Fixtures, makeFixtures } from '../support/models.js'
import { root, spawnCli, start } from '../support/spawn.js'

let f: Fixtures
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

async function serve(argv: string[], env: Record<string, string> = {}) {
  const running = start(['serve', '--port', '0', '-c', '8192', '--temp', '0', ...argv], { env })
  let err = ''
  running.child.stderr.on('data', (part) => {
    err += part
  })
  await running.says('listening on')
  const url = /listening on (\S+)/.exec(err)?.[1] ?? ''
  const post = (body: object, headers: Record<string, string> = {}) =>
    fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const metrics = async () => (await fetch(`${url}/metrics`)).text()
  return { ...running, url, post, metrics, said: () => err }
}

const long = demoText(8000)

/** A stream whose first bytes have come: it is being answered. */
async function streaming(server: Awaited<ReturnType<typeof serve>>) {
  const response = await server.post({ prompt: long, max_tokens: 4, stream: true })
  expect(response.status).toBe(200)
  return response.text()
}

it.each([
  ['0.0.0.0', [], true],
  ['0.0.0.0', ['--api-key', 'secret'], false],
  ['127.0.0.1', [], false],
])('on %s with %j it warns that others may ask: %s', async (host, flags, warns) => {
  const server = await serve(['-m', f.model, '--host', host, ...flags])
  expect(server.url).toMatch(new RegExp(`^http://${host.replaceAll('.', '[.]')}:\\d+$`))
  expect(server.said().includes('--api-key KEY asks for a key')).toBe(warns)
  server.child.kill('SIGTERM')
  await server.ended
})

describe('SIGTERM', () => {
  it('lets the requests that there are end', async () => {
    const server = await serve(['-m', f.slowModel, '-n', '4', '-a', 'mine'])
    const models = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: unknown[] }
    expect(models.data).toMatchObject([{ id: 'mine', meta: { n_ctx: 8192 } }])
    const text = streaming(server)
    const waiting = server.post({ prompt: 'x' })
    for (let said = ''; !(said.includes('requests_processing 1') && said.includes('requests_deferred 1')); ) {
      await sleep(5)
      said = await server.metrics()
    }
    server.child.kill('SIGTERM')
    expect((await waiting).status).toBe(200)
    expect(await text).toContain('"finish_reason":"length"')
    expect(await text).toContain('[DONE]')
    const { code, err, out } = await server.ended
    expect([code, out, err.includes('a second signal kills')], err).toEqual([0, '', true])
  })

  it.skipIf(process.platform === 'win32')('ends it where it waits for a file that never comes', async () => {
    const pipe = join(f.folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const flag of ['--api-key-file', '--chat-template-file']) {
      const { child, ended } = start(['serve', '--port', '0', '-m', f.model, flag, pipe])
      await sleep(1000)
      child.kill('SIGTERM')
      expect((await ended).signal).toBe('SIGTERM')
    }
  })

  it('kills when it comes again', async () => {
    const server = await serve(['-m', f.slowModel])
    const text = streaming(server).catch((error: Error) => error)
    while (!(await server.metrics()).includes('requests_processing 1')) await sleep(5)
    server.child.kill('SIGTERM')
    await server.says('a second signal kills')
    server.child.kill('SIGTERM')
    expect((await server.ended).signal).toBe('SIGTERM')
    expect(await text).toBeInstanceOf(Error)
  })
})

it('asks for a key from the environment and from a file, and takes flags without effect', async () => {
  const file = join(f.folder, 'keys')
  await writeFile(file, '# ours\n\nfrom-file\n')
  const server = await serve(['-m', f.model, '--api-key-file', file, '--metrics', '-n', '2'], {
    LLAMA_API_KEY: 'one,two',
  })
  for (const [key, status] of [
    ['one', 200],
    ['two', 200],
    ['from-file', 200],
    ['# ours', 401],
  ] as const) {
    expect((await server.post({ prompt: 'x' }, { authorization: `Bearer ${key}` })).status).toBe(status)
  }
  server.child.kill('SIGINT')
  const { err } = await server.ended
  expect(err).toContain('--metrics has no effect')
  expect(err).toMatch(/: \S+Z POST \/v1\/completions, 401, [\d.]+ s, invalid_api_key\n/)
})

it('samples as its flags say, unless a request does', async () => {
  const flags = ['--grammar', 'root ::= "ours"', '--logit-bias', '65-1', '--log-disable']
  const server = await serve(['-m', f.model, ...flags])
  const text = async (body: object) => {
    const { choices } = (await (await server.post({ prompt: 'x', ...body })).json()) as {
      choices: { text: string }[]
    }
    return choices[0]?.text
  }
  expect(await text({})).toBe('ours')
  expect(await text({ json_schema: { const: 7 } })).toBe('7')
  server.child.kill('SIGTERM')
  const { code, err } = await server.ended
  expect([code, err.includes('POST')], err).toEqual([0, false])
})

it('decodes its slots in one graph with --cont-batching', async () => {
  const server = await serve(['-m', f.model, '-np', '2', '-cb', '--ignore-eos', '-n', '300'])
  await Promise.all([server.post({ prompt: 'one' }), server.post({ prompt: 'two' })])
  const metrics = await server.metrics()
  const [calls, rows] = ['step_calls', 'rows'].map(
    (name) => new RegExp(`^h2o_${name}_total (\\d+)$`, 'm').exec(metrics)?.[1],
  )
  expect(rows).toBe('598')
  expect(Number(calls)).toBeLessThan(500)
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

it.each([
  ['by default', [], true, '[user]x[assistant]y'],
  [
    'unless flags say otherwise',
    ['--cache-ram', '0', '--no-prefill-assistant'],
    false,
    '[user]x[assistant]y[assistant]',
  ],
])('keeps what was read, and continues the assistant, %s', async (_, flags, isKept, prompt) => {
  const template =
    "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
  const server = await serve(['-m', f.model, '-ub', '64', '-b', '192', '--chat-template', template, ...flags])
  const [one, other] = [demoText(3000), demoText(3000).split('').reverse().join('')]
  for (const prompt of [one, other, one]) await server.post({ prompt, max_tokens: 1 })
  const loaded = /^h2o_cache_ram_loaded_total (\d)$/m.exec(await server.metrics())
  expect(loaded?.[1]).toBe(isKept ? '1' : '0')
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: 'y' },
  ]
  const written = await fetch(`${server.url}/apply-template`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  })
  expect(await written.json()).toEqual({ prompt })
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

describe('what cannot be', () => {
  it.each([
    ['a prompt', ['-p', 'x'], 2],
    ['no slots', ['-np', '0'], 2],
    ['bodies that no text holds', ['--max-body', '512'], 2],
    ['a file of keys that is not there', ['--api-key-file', '/no/such/file'], 2],
    ['a key that is empty', ['--api-key', ','], 2],
    ['a grammar that cannot be parsed', ['--grammar', 'root ::= ('], 2],
    ['two grammars', ['--grammar', 'root ::= "a"', '-j', '{}'], 2],
    ['a bias of a token that is none', ['-l', '99999999+1'], 2],
    ['a template that is none', ['--chat-template', 'chatml'], 2],
    ['no model', ['-m', '/no/such/model'], 3],
    ['slots that do not fit', ['-np', '64', '-c', '30000000'], 5],
  ])('%s', async (_, argv, expected) => {
    const { code, err } = await spawnCli(['serve', '--port', '0', '-m', f.model, ...argv])
    expect(code, err).toBe(expected)
  })

  it('an address that is empty, which would be all of them', async () => {
    const ends = [
      await spawnCli(['serve', '--port', '0', '-m', f.model, '--host', '']),
      await spawnCli(['serve', '--port', '0', '-m', f.model], '', { env: { LLAMA_ARG_HOST: '' } }),
    ]
    for (const { code, err } of ends)
      expect([code, err]).toEqual([2, expect.stringContaining('An address is')])
  })

  it('an address that is none, as of a socket of Unix', async () => {
    const { code, err } = await spawnCli(['serve', '--host', '/tmp/x.sock', '-m', f.model])
    expect([code, err.includes('--host HOST is an address')], err).toEqual([1, true])
  })

  it('a port that is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const { code, err } = await spawnCli(['serve', '--port', String(port), '-m', f.model])
    other.close()
    expect([code, err.includes('EADDRINUSE') && err.includes('--port N')], err).toEqual([1, true])
  })
})

it('is not loaded with the library, nor with other commands', async () => {
  const script = `
    import { createRequire } from 'node:module'
    await import('./dist/index.js')
    await import('./dist/cli/commands/run.js')
    const loaded = Object.keys(createRequire(import.meta.url).cache)
    console.log(loaded.some((path) => /commander/.test(path)), loaded.some((path) => /fastify|prom-client/.test(path)))`
  const { stdout } = await runNode(['--input-type=module', '-e', script], { cwd: root })
  expect(stdout.trim()).toBe('true false')
})
