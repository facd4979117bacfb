// The server as a process of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { TEMPLATE } from './conversations.mjs'

const BIN = fileURLToPath(new URL('../../bin/h2o-prefill.js', import.meta.url))

export async function startServer({ model, nCtx, nBatch, nUbatch, parallel, contBatching = false }) {
  const sizes = ['-c', nCtx, '-b', nBatch, '-ub', nUbatch, '-np', parallel].map(String)
  const argv = [
    '-m',
    model,
    ...sizes,
    ...(contBatching ? ['--cont-batching'] : []),
    '--chat-template',
    TEMPLATE,
    '--temp',
    '0',
    '--ignore-eos',
    '--port',
    '0',
  ]
  const child = spawn(process.execPath, [BIN, 'serve', ...argv], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'close')
  process.once('exit', () => child.kill())
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const url = await new Promise((resolve, reject) => {
    let said = ''
    child.stderr.on('data', (part) => {
      said += part
      const found = /listening on (\S+)/.exec(said)
      if (found) resolve(found[1])
    })
    child.on('close', () => reject(new Error(`the server ended: ${said}`)))
  })

  const metric = async (name) => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }
  return {
    url,
    rssBytes: () => metric('process_resident_memory_bytes'),
    async untilIdle() {
      while ((await metric('llamacpp:requests_processing')) > 0) await new Promise((go) => setTimeout(go, 50))
    },
    async stop() {
      child.kill('SIGTERM')
      const [code] = await ended
      return code
    },
  }
}
