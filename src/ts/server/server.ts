/** The HTTP server: routes, keys, limits and errors. Loaded by `serve` alone: the library does not need fastify. */

import { setTimeout as sleep } from 'node:timers/promises'
import cors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Context } from '../context.js'
import { H2oError } from '../errors.js'
import type { AttentionCost } from '../gain.js'
import type { GenerateOptions } from '../generate.js'
import { checkSampling } from '../sampling.js'
import { handleOf, type Sequence } from '../sequence.js'
import type { Service } from './answer.js'
import { ApiError, toApiError } from './api-error.js'
import { ApiKeys } from './api-keys.js'
import { Bodies } from './bodies.js'
import { answerClientError } from './client-error.js'
import { stallTimeout } from './event-stream.js'
import { type RequestBody, withoutNulls } from './fields.js'
import { addJsonBody } from './json-body.js'
import { Metrics } from './metrics.js'
import { OpenResponses } from './open-responses.js'
import { QueueFull, SlotPool, slotsOf } from './pool.js'
import { reboundOrigin } from './rebound.js'
import { Recall } from './recall.js'
import { RequestLog } from './request-log.js'
import { addAbout } from './routes/about.js'
import { addAbsent } from './routes/absent.js'
import { addAnswers } from './routes/answers.js'
import { addPage, pageUrls } from './routes/page.js'
import { addTokens } from './routes/tokens.js'
import { messageError } from './shapes/messages.js'

export interface ServerOptions {
  /** Its sequences are the slots. */
  context: Context
  /** The name of the model. */
  alias: string
  version: string
  /** Jinja, in place of the model's own. */
  template?: string
  /** A last message of the assistant is continued: true */
  prefillAssistant?: boolean
  defaults: GenerateOptions
  /** Requests that may wait. */
  queue: number
  timeoutMs: number
  /** Milliseconds that a client may take nothing of an answer that is ready: 30,000 */
  stalledMs?: number
  maxBodyBytes: number
  /** None: everybody may ask. */
  apiKeys: readonly string[]
  /** Of memory for what slots held; 0: it is read again. */
  cacheBytes: number
  /** What slots hold of one key's prompts serves no other key. */
  separateKeys?: boolean
  /** What attention costs on the processor that the context runs on: timings have a prediction of dense attention then. */
  attention?: AttentionCost
  /** Origins whose pages may ask; '*' is all of them. */
  corsOrigins: readonly string[]
  /** With the files of the page at `/`; none: there is no page. */
  pageFolder?: string
  /** Gets a line for each request that has ended, but for those of probes. */
  onRequest?(line: string): void
  /** Told what a request failed with, where that is the server's fault. */
  onFailure?(error: unknown): void
}

export interface Server {
  readonly app: FastifyInstance
  readonly slots: readonly Sequence[]
  /** Answers 503 from now on, and resolves when clients have the answers of those that there are. */
  drain(): Promise<void>
}

/** What may be asked without a key. */
const open = new Set([
  '/health',
  '/v1/health',
  '/ready',
  '/v1/models',
  '/v1/models/*',
  '/models',
  ...pageUrls,
])

/** Throws ERR_H2O_INVALID_ARGUMENT and ERR_H2O_TOKEN_OUT_OF_RANGE for defaults that cannot be. */
export async function makeServer(options: ServerOptions): Promise<Server> {
  const { stalledMs = 30_000 } = options
  const { context } = options
  const sampling = checkSampling(options.defaults, context.model.nVocab)
  const pool = new SlotPool(slotsOf(context), options.queue)
  let lost = false
  const onFailure = (error: unknown) => {
    lost ||= isLost(error)
    options.onFailure?.(error)
  }
  const recall = new Recall(options.cacheBytes, onFailure)
  const bodies = new Bodies(options.maxBodyBytes)
  const metrics = new Metrics(pool, recall, bodies, context[handleOf]().shared.scheduler.counts)
  const log = new RequestLog((line) => options.onRequest?.(line))
  const keys = new ApiKeys(options.apiKeys)
  const service: Service = {
    pool,
    recall,
    metrics,
    log,
    context,
    model: context.model,
    defaults: options.defaults,
    sampling,
    prefillAssistant: options.prefillAssistant !== false,
    maxText: options.maxBodyBytes,
    timeoutMs: options.timeoutMs,
    stalledMs,
    alias: options.alias,
    onFailure,
    fingerprint: `h2o-llama-${options.version}`,
    ...(options.attention && { attention: options.attention }),
    ...(options.template !== undefined && { template: options.template }),
  }
  const owners = new WeakMap<FastifyRequest, number>()
  const responses = new OpenResponses()
  let draining = false

  const app = Fastify({
    requestTimeout: 60_000, // for a request to arrive
    forceCloseConnections: true,
    http: { requireHostHeader: false }, // Node's answer has no body
    rewriteUrl: ({ url = '/' }) => url.replace(/^https?:\/\/[^/?]*\/?/i, '/'), // as of a proxy, where it begins with a host
    clientErrorHandler: (error, socket) => answerClientError(error, socket, responses.isBegun(socket)),
    frameworkErrors: (error, _, reply) => void fail(reply, error, log),
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allowUnionTypes: true,
      },
    },
  })
  app.server.on('checkExpectation', app.routing) // what is expected but 100-continue is nothing: Node's 417 has no body
  addJsonBody(app, bodies)
  app.setErrorHandler((error, _, reply) => fail(reply, error, log, onFailure))
  app.setNotFoundHandler(({ method, url }, reply) =>
    fail(reply, new ApiError(404, 'not_found', `there is no ${method} ${url.slice(0, 200)}`), log),
  )
  if (options.corsOrigins.length > 0) {
    const all = options.corsOrigins.includes('*')
    await app.register(cors, { origin: all ? '*' : [...options.corsOrigins] })
  }
  app.addHook('onRequest', async (request, { raw }) => {
    const { routeOptions, headers } = request
    log.follow(request, raw)
    responses.add(raw)
    raw.setTimeout(0) // what the answer before it had, where both were asked for at once
    if (headers.host === undefined && request.raw.httpVersion === '1.1') throw withoutHost()
    raw.once('close', () => bodies.left(request.raw))
    if (options.apiKeys.length === 0) refuseRebound(request, options.corsOrigins)
    const key = keys.keyOf(headers)
    if (key !== undefined && options.separateKeys) owners.set(request, key)
    if (key !== undefined || open.has(routeOptions.url ?? '')) return
    throw new ApiError(401, 'invalid_api_key', 'the API key is missing or wrong')
  })
  app.addHook('preValidation', async (request) => {
    const { body } = request
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      request.body = withoutNulls(body as RequestBody)
  })
  app.addHook('onSend', async (_, { raw }) => {
    raw.setTimeout(stallTimeout(stalledMs)) // Node closes the connection then, and has its own limits for the next request
  })
  app.addHook('onResponse', async ({ routeOptions }, { statusCode, raw }) => {
    metrics.responded(routeOptions.url ?? 'none', raw.headersSent ? raw.statusCode : statusCode)
  })

  const serving = {
    app,
    service,
    isDraining: () => draining,
    isLost: () => lost,
    ownerOf: (request: FastifyRequest) => owners.get(request),
  }
  for (const add of [addAnswers, addTokens, addAbout, addAbsent]) add(serving)
  if (options.pageFolder !== undefined) addPage(app, options.pageFolder)

  return {
    app,
    slots: pool.slots,
    async drain() {
      draining = true
      const areTaken = responses.watch() // who asks now is refused, and would hold the end as long as somebody asks
      responses.leaveUnasked(stalledMs)
      while (pool.processing + pool.deferred > 0) await sleep(50)
      while (!areTaken()) await sleep(50)
      await app.close() // not before: Node takes a connection whose answer is still being sent for an idle one
    },
  }
}

/** A call that was undone tells a position. Without one llama.cpp gave up in it, and so the next one would fail, too. */
const isLost = (error: unknown) =>
  error instanceof H2oError && error.code === 'ERR_H2O_DECODE_FAILED' && error.details.position === undefined

const withoutHost = () => new ApiError(400, 'invalid_request', 'a request of HTTP/1.1 has the header host')

/** With keys, a page needs one. */
function refuseRebound({ raw }: FastifyRequest, corsOrigins: readonly string[]): void {
  const origin = reboundOrigin(raw)
  if (origin === undefined || corsOrigins.includes('*') || corsOrigins.includes(origin)) return
  const message = `a page of ${origin.slice(0, 200)} may not ask: --cors-origins names those that may`
  throw new ApiError(403, 'origin_not_allowed', message)
}

function fail(
  reply: FastifyReply,
  error: unknown,
  log: RequestLog,
  onFailure?: (error: unknown) => void,
): FastifyReply {
  const known = error instanceof QueueFull ? toQueueFull(error) : toApiError(error)
  log.note(reply.raw, known.code)
  if (known.status === 500) onFailure?.(error)
  const isAnthropic = reply.request.url.startsWith('/v1/messages')
  return reply
    .removeHeader('connection') // fastify would close it while a body is sent, and the client would see a broken pipe
    .headers(known.options.headers ?? {})
    .code(known.status)
    .send(isAnthropic ? messageError(known) : known.body)
}

function toQueueFull({ retryAfterSeconds }: QueueFull): ApiError {
  const message = 'the queue is full; Retry-After says when there should be room'
  return new ApiError(429, 'queue_full', message, { headers: { 'retry-after': String(retryAfterSeconds) } })
}
