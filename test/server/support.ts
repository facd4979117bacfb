/** A server on tiny contexts, and what a fresh context would answer. */

import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import type { ContextOptions, GenerateSummary, Sequence } from '../../src/ts/index.js'
import type { RequestBody } from '../../src/ts/server/fields.js'
import { optionsOf } from '../../src/ts/server/fields.js'
import { chatPrompt, promptOptions, textPrompt } from '../../src/ts/server/prompt.js'
import { makeServer, type Server, type ServerOptions } from '../../src/ts/server/server.js'
import { collect, tinyContext, tinyModel } from '../ts/support.js'

const template =
  "{%- for m in messages %}{{ '[' + m.role + ']' + m.content + '\n' }}{%- endfor %}{%- for t in tools or [] %}{{ t.function.name }}{%- endfor %}{%- if add_generation_prompt %}{{ '[assistant]' }}{%- endif %}"
/** Of a tiny model that can chat. */
export const chatting = {
  metadata: { 'tokenizer.chat_template': { type: 'string', value: template } },
} as const
const settings = {
  nCtx: 8192,
  h2o: { local: 16, heavy: 16, select: 'query', denseTail: 20 },
} as const satisfies Partial<ContextOptions>

export interface TestServer extends AsyncDisposable {
  url: string
  server: Server
  slots: readonly Sequence[]
  openai: OpenAI
  /** Of a body, as it is. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  metric(name: string): Promise<number>
  /** The answer of a fresh context. */
  fresh(body: RequestBody): Promise<GenerateSummary>
}

export interface TestServerOptions extends Partial<Omit<ServerOptions, 'context'>> {
  parallel?: number
  context?: Partial<ContextOptions>
}

const makeContext = async (options: Partial<ContextOptions> = {}) =>
  tinyContext({
    model: await tinyModel(chatting),
    ...settings,
    ...options,
  })

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { parallel = 1, context: settings, ...given } = options
  const ownTemplate = given.template === undefined ? {} : { template: given.template }
  const context = await makeContext({ ...settings, parallel })
  const defaults = { nPredict: 16, temperature: 0, ignoreEos: true }
  const server = await makeServer({
    context,
    alias: 'tiny',
    version: '0',
    defaults,
    queue: 16,
    cacheBytes: 2 ** 30,
    timeoutMs: 100_000,
    maxBodyBytes: 2 ** 20,
    apiKeys: [],
    corsOrigins: [],
    ...given,
  })
  await server.app.listen({ port: 0 })
  const url = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  return {
    url,
    server,
    slots: server.slots,
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: given.apiKeys?.[0] ?? 'none', maxRetries: 0 }),
    post,
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text()
      const line = text.split('\n').find((one) => one.startsWith(`${name} `))
      return Number(line?.split(' ')[1])
    },
    async fresh(body) {
      await using alone = await makeContext(settings)
      const read = 'messages' in body ? chatPrompt : textPrompt
      const options = { ...defaults, ...optionsOf(body) }
      const how = { prefillAssistant: true, maxText: 2 ** 24, ...ownTemplate }
      const asked = { model: alone.model, context: alone, ...how }
      const prompt = await read(body, asked, new AbortController().signal, options)
      return (await collect(alone.generate(prompt.tokens, promptOptions(prompt, options)))).summary
    },
    async [Symbol.asyncDispose]() {
      await server.app.close()
      await context.dispose()
    },
  }
}

/** Words that repeat no pattern. */
export function someText(length: number, seed = 1): string {
  let state = seed
  const letter = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return 'abcdefghijklmnop qrstuvwxyz'[(state >>> 16) % 27]
  }
  return Array.from({ length }, letter).join('')
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5)
}
