/** node main.mjs MODEL [QUEUE]: takes jobs until SIGTERM, then ends the one that it has. REDIS_URL names the server. */

import { createContext } from 'h2o-llama'
import { Redis } from 'ioredis'
import { makeWorker } from './worker.mjs'

const [model, queue = 'prompts'] = process.argv.slice(2)
if (!model) {
  console.error('usage: node main.mjs MODEL [QUEUE]')
  process.exit(2)
}
const context = await createContext({
  model,
  nCtx: Number(process.env.N_CTX ?? 32768),
  nBatch: 4096,
  nUbatch: Number(process.env.N_UBATCH ?? 1024),
})
const connection = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', {
  maxRetriesPerRequest: null,
})
const worker = makeWorker(context, { queue, connection })
worker.on('ready', () => console.error(`takes jobs of "${queue}"`))
worker.on('completed', ({ id }, { prompt, ttftMs }) => {
  const { tokens, cached, path } = prompt
  console.error(
    `${id}: ${cached} cached, ${tokens} read (${path}), first token after ${Math.round(ttftMs)} ms`,
  )
})
worker.on('failed', (job, error) => {
  console.error(`${job?.id}: ${error.message}`)
  // the context may be of no use any more: whoever watches this process starts a new one
  if (error.code === 'ERR_H2O_DECODE_FAILED') process.exit(1)
})

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, async () => {
    await worker.close()
    await context.dispose()
    await connection.quit()
  })
}
