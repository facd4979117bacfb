/** Layers on other machines: what scripts/build-rpc.mjs builds, with ggml-rpc-server twice on this one. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createContext, loadModel } from '../../../src/ts/index.js'
import { freePort } from '../../examples/redis.js'
import { runFixture, someTokens, tinyModel } from '../../ts/support.js'

const built = fileURLToPath(new URL('../../../build-rpc', import.meta.url))
const program = join(built, 'bin/ggml-rpc-server')
if (existsSync(program)) process.env.H2O_LLAMA_BINARY = join(built, 'h2o_llama.node')
process.env.H2O_RPC_TIMEOUT = '3' // of the tests that wait for it; no other takes as long

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const heard = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return heard
}

async function startPeer(): Promise<{ server: string; child: ChildProcess }> {
  const port = await freePort()
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port), '-t', '1'], { stdio: 'ignore' })
  while (!(await listens(port))) await sleep(20)
  return { server: `127.0.0.1:${port}`, child }
}

const load = async (...rpc: string[]) => loadModel({ path: await tinyModel({ layers: 4 }), rpc })

it('takes servers as host:port alone', async () => {
  for (const server of ['', 'here', 'here:', ':1', 'here:0', 'here:65536', 'a b:1', 'here:1x']) {
    await expect(load(server)).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
  }
})

describe.skipIf(!existsSync(program))('RPC', () => {
  let peers: Awaited<ReturnType<typeof startPeer>>[]
  beforeAll(async () => {
    peers = await Promise.all([startPeer(), startPeer(), startPeer(), startPeer()])
  })
  afterAll(() => {
    for (const { child } of peers) child.kill('SIGKILL')
  })
  const server = (i: number) => peers[i]?.server ?? ''

  it.each([
    ['query', { denseTail: 0 }], // a tail is read by the exact kernel here, by llama.cpp's there
    ['votes', { select: 'votes' }],
    ['off', false],
  ] as const)('gives the logits of one machine: %s', async (_, h2o) => {
    const logits = async (...rpc: string[]) => {
      await using model = await load(...rpc)
      const sizes = { nCtx: 2048, nBatch: 192, nUbatch: 64, nThreads: 1 }
      await using context = await createContext({ model, ...sizes, h2o })
      const read = await context.prefill(someTokens(1500))
      expect(read.path).toBe(h2o ? 'h2o' : 'dense')
      return read.logits
    }
    expect(await logits(server(0), server(1))).toEqual(await logits())
  })

  it('refuses a server that is not there, and one of another version', async () => {
    await expect(load(`127.0.0.1:${await freePort()}`)).rejects.toMatchObject({ code: 'ERR_H2O_RPC' })
    // what llama.cpp's own answers to HELLO: 7.0.0
    const stock = createServer((socket) => {
      socket.once('data', () =>
        socket.write(Buffer.from([...new Uint8Array(8).fill(28, 0, 1), 7, ...new Uint8Array(27)])),
      )
    }).listen(0, '127.0.0.1')
    await once(stock, 'listening')
    const { port } = stock.address() as { port: number }
    await expect(load(`127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'ERR_H2O_RPC',
      details: { log: expect.stringContaining('7.0.0') },
    })
    stock.close()
  })

  it('does not wait for ever for a server that says nothing', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    await expect(load(`127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'ERR_H2O_RPC' })
    silent.close()
  })

  it.each([
    ['dies', 2, 'SIGKILL'],
    ['hangs', 3, 'SIGSTOP'],
  ])('gives the context up where a server %s, and the process lives', async (_, i, signal) => {
    const model = await tinyModel({ layers: 4 })
    const args = [model, server(i), String(peers[i]?.child.pid), signal]
    const { code, stdout, stderr } = await runFixture('rpc-peer-ends.mjs', args)
    expect([code, stdout], stderr).toEqual([0, 'ERR_H2O_DECODE_FAILED\nERR_H2O_DECODE_FAILED\n'])
  })
})
