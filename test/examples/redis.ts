/** A Redis of a test's own. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Redis } from 'ioredis'

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export interface TestRedis extends AsyncDisposable {
  url: string
  /** A connection as BullMQ wants it; closed with the server. */
  connect(): Redis
}

/** Nothing is written to disk. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  const url = `redis://127.0.0.1:${port}`
  const connections: Redis[] = []
  const connect = () => {
    const connection = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
    connection.on('error', () => {}) // not up yet, or down already
    connections.push(connection)
    return connection
  }
  await connect().ping()
  return {
    url,
    connect,
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.disconnect()
      child.kill()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}
