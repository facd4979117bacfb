/** examples/balancer with a real nginx (Debian: nginx-light) before two processes of `serve`. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start } from '../cli/support/spawn.js'
import { someText, until } from '../server/support.js'
import { tinyModel } from '../ts/support.js'
import { freePort } from './redis.js'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }
const hasNginx = spawnSync('nginx', ['-v'], { env }).status === 0
// nginx hashes over ports, which are others in every run: 8 sessions may all have the same home
const MAX_SESSIONS = 64

describe.skipIf(!hasNginx)('nginx before two replicas', () => {
  let folder: string
  let url: string
  const ports: number[] = []
  const running: ReturnType<typeof start>[] = []
  let stop: () => Promise<unknown>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'h2o-balancer-'))
    const model = await tinyModel()
    const flags = '-c 8192 -ub 256 -t 1 --temp 0 -n 2 --ignore-eos'.split(' ')
    for (let i = 0; i < 2; i++) {
      const port = await freePort()
      const server = start(['serve', '-m', model, '--port', String(port), ...flags])
      await server.says('listening on')
      ports.push(port)
      running.push(server)
    }
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const conf = await readFile(new URL('../../examples/balancer/nginx.conf', import.meta.url), 'utf8')
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
      .join('\n')
    const ours = conf
      .replace('127.0.0.1:8081', `127.0.0.1:${ports[0]}`)
      .replace('127.0.0.1:8082', `127.0.0.1:${ports[1]}`)
      .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replace('http {', `http {\n${temporary}`)
    await writeFile(join(folder, 'nginx.conf'), ours)
    const args = ['-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;']
    const nginx = spawn('nginx', args, { env, stdio: 'ignore' })
    stop = () => {
      nginx.kill()
      return once(nginx, 'exit')
    }
    await until(async () => {
      expect(nginx.exitCode).toBeNull()
      return (await fetch(`${url}/health`).catch(() => undefined))?.status === 200
    })
  })
  afterAll(async () => {
    await stop?.()
    for (const { child, ended } of running) {
      child.kill()
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  })

  async function ask(
    session: string,
    prompt: string,
  ): Promise<{ cached: number; replica: number | undefined }> {
    const before = await Promise.all(ports.map(answered))
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-session-id': session },
      body: JSON.stringify({ prompt }),
    })
    expect(response.status).toBe(200)
    const { usage } = (await response.json()) as {
      usage: { prompt_tokens_details: { cached_tokens: number } }
    }
    const after = await Promise.all(ports.map(answered))
    const replica = ports.find((_, i) => after[i] !== before[i])
    return { cached: usage.prompt_tokens_details.cached_tokens, replica }
  }

  /** Requests that a replica has answered. */
  async function answered(port: number): Promise<number | undefined> {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined)
    const line = (await response?.text())?.match(/^h2o_ttft_seconds_count.*$/gm) ?? []
    return response && line.reduce((sum, one) => sum + Number(one.split(' ')[1]), 0)
  }

  const homes = new Map<string, number | undefined>()

  it('sends the second turn where the first one was read', async () => {
    for (let i = 0; i < 8 || (new Set(homes.values()).size < 2 && i < MAX_SESSIONS); i++) {
      const session = `conversation-${i}`
      const text = someText(3000, i)
      const first = await ask(session, text)
      const second = await ask(session, `${text} and another turn`)
      expect([first.cached, second.replica]).toEqual([0, first.replica])
      expect(second.cached).toBeGreaterThan(2000)
      homes.set(session, first.replica)
    }
    expect(new Set(homes.values()).size).toBe(2)
  })

  it('gives the sessions of a replica that died to the other one', async () => {
    const [dead, left] = ports
    running[0]?.child.kill('SIGKILL')
    await running[0]?.ended
    for (const session of homes.keys()) expect((await ask(session, 'x')).replica).toBe(left)
    expect([...homes.values()]).toContain(dead)
  })

  it('lets nobody see the metrics of whichever replica', async () => {
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
  })
})
