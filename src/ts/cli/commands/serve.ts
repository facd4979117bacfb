// `h2o-prefill serve`: an OpenAI-compatible server on the sequences of a context.

import { once } from 'node:events'
import { type AddressInfo, isIPv6 } from 'node:net'
import { basename, join } from 'node:path'
import { asksForDrafts } from '../../drafting.js'
import { hostMemory } from '../../host-memory.js'
import type { Context, ContextOptions, H2oWarning, Model, SamplingOptions } from '../../index.js'
import { packageRoot } from '../../native/binding.js'
import { isLoopback } from '../../server/loopback.js'
import { attentionCostOf } from '../attention-cost.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { contextOptions, generateOptions } from '../flags/flags.js'
import { modelOptions } from '../flags/model-flags.js'
import { constraintOf } from '../flags/sampling-flags.js'
import { chatTemplateOf } from '../run/conversation.js'
import { memoryLines } from '../run/summary.js'
import { readApiKeys } from '../serve/api-keys.js'
import { cacheBytes } from '../serve/cache-ram.js'
import { type ServeFlags, serveOptions } from '../serve/options.js'
import { warner } from '../session.js'
import { ExitCode } from '../shell/exit-codes.js'
import { abortOnSignal } from '../shell/interrupt.js'
import type { CliIo } from '../shell/io.js'
import { packageVersion } from '../version.js'

const notes = `POST /v1/chat/completions, /v1/completions, /v1/responses; Anthropic's /v1/messages; GET /v1/models, /health, /ready,
/metrics; llama.cpp's /completion, /props, /slots, /tokenize, /detokenize, /apply-template. SIGTERM and Ctrl-C let the
requests that there are end, and the exit code is 0; a second one kills. It is 1 if the port cannot be had.`

export const main = commandMain<ServeFlags>(
  {
    usage: 'serve [-m FILE] [options]',
    description: "Answer OpenAI's requests over HTTP, and a person's on the page at /.",
    options: serveOptions,
    notes,
  },
  async (flags, io) => {
    // a pipe that nobody writes to cannot be aborted: until here a signal has its default effect
    const texts = {
      apiKeys: await readApiKeys(flags),
      template: await chatTemplateOf(flags),
      constraint: await constraintOf(flags),
    }
    const { controller, release } = abortOnSignal()
    try {
      return await serve(flags, texts, io, controller.signal)
    } finally {
      release()
    }
  },
)

interface Texts {
  apiKeys: string[]
  template: string | undefined
  constraint: SamplingOptions
}

async function serve(
  flags: ServeFlags,
  { apiKeys, template, constraint }: Texts,
  io: CliIo,
  signal: AbortSignal,
): Promise<number> {
  const say = (line: string) => void io.stderr.write(`h2o-prefill: ${line}\n`)
  const warn = warner(io)
  const path = modelPath(flags, io)

  const [api, { makeServer }] = await Promise.all([
    import('../../index.js'),
    import('../../server/server.js'),
  ])
  if (flags.verbose) api.setLogLevel('info')
  const onWarning = ({ message }: H2oWarning) => warn(message)
  const model = await api.loadModel({ ...modelOptions({ ...flags, model: path }), onWarning, signal })
  let context: Context | undefined
  try {
    context = await api.createContext(serverContext(flags, model, onWarning))
    if (flags.verbose) for (const line of memoryLines(context)) say(line)
    if (context.h2o.reason !== null) warn(`prompts are dense: ${context.h2o.reason}`)
    if (template === undefined && model.chatTemplate === null) {
      warn('this model has no chat template: /v1/chat/completions needs --chat-template-file')
    }
    const defaults = { ...generateOptions(flags), ...constraint }
    if (Object.keys(constraint).length > 0 || asksForDrafts(flags.specType)) {
      for await (const _ of context.generate([0], { ...defaults, nPredict: 1 })); // what is refused is told now
    }
    const attention = attentionCostOf(flags, api)
    const server = await makeServer({
      context,
      alias: flags.alias ?? basename(path),
      version: packageVersion(),
      ...(template !== undefined && { template }),
      prefillAssistant: flags.prefillAssistant,
      defaults,
      queue: flags.queue,
      cacheBytes: cacheBytes(flags.cacheRam, context, hostMemory()),
      timeoutMs: flags.timeout * 1000,
      maxBodyBytes: flags.maxBody * 2 ** 20,
      apiKeys,
      ...(attention && { attention }),
      separateKeys: flags.separateKeys === true,
      corsOrigins: (flags.corsOrigins ?? '')
        .split(',')
        .map((origin) => origin.trim())
        .filter(Boolean),
      ...(flags.ui && { pageFolder: join(packageRoot(), 'dist/page') }),
      ...(flags.logDisable !== true && { onRequest: (line) => say(`${new Date().toISOString()} ${line}`) }),
      onFailure: (error) => say(`error: ${error instanceof Error ? (error.stack ?? error.message) : error}`),
    })
    await server.app.listen({ host: flags.host, port: flags.port }).catch((error) => {
      if (['EADDRINUSE', 'EACCES'].includes(error.code)) error.hint = '--port N names another port'
      if (['ENOTFOUND', 'EADDRNOTAVAIL'].includes(error.code))
        error.hint = '--host HOST is an address of this machine'
      throw error
    })
    const at = server.app.server.address() as AddressInfo
    if (apiKeys.length === 0 && !isLoopback(at.address)) {
      warn('whoever reaches this address may ask: --api-key KEY asks for a key')
    }
    say(`listening on ${urlOf(at)}`)
    if (!signal.aborted) await once(signal, 'abort')
    say('ending when the requests that there are have been answered; a second signal kills')
    await server.drain()
    return ExitCode.ok
  } finally {
    await context?.dispose()
    await model.dispose()
  }
}

const urlOf = ({ address, port }: AddressInfo) =>
  `http://${isIPv6(address) ? `[${address}]` : address}:${port}`

/** As the library makes one: its size does not follow from a prompt. */
function serverContext(
  flags: ServeFlags,
  model: Model,
  onWarning: (warning: H2oWarning) => void,
): ContextOptions {
  const { nCtx: _, ...options } = contextOptions(flags, model, 0, onWarning)
  const { parallel, contBatching = false } = flags
  return { ...options, parallel, contBatching, ...(flags.ctxSize !== undefined && { nCtx: flags.ctxSize }) }
}
