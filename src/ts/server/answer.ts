/** Answering one request: its place in the queue, its slot, its tokens. */

import type { FastifyReply } from 'fastify'
import type { AssistantMessage, MessageDelta } from '../chat.js'
import { type AttentionCost, predictGainOf } from '../gain.js'
import type { GenerateOptions } from '../generate.js'
import type { NativeSampling } from '../native/surface.js'
import { checkSampling } from '../sampling.js'
import type { GeneratedToken, GenerateSummary, PrefillProgress } from '../types.js'
import { Utf8Stream } from '../utf8-stream.js'
import { ApiError, ClientLeft, toApiError } from './api-error.js'
import { Course } from './course.js'
import { EventStream, emitted } from './event-stream.js'
import { optionsOf, type RequestBody, refuseFields } from './fields.js'
import { timingsOf, usageOf } from './figures.js'
import { type LimitSettings, type Limits, limited } from './limits.js'
import { type LikelyToken, likelyToken } from './logprobs.js'
import type { SlotPool, Turn } from './pool.js'
import { type PromptSettings, promptOptions, type ServedPrompt } from './prompt.js'
import { type PromptProgress, promptProgress } from './prompt-progress.js'
import { readingOf } from './reading.js'
import type { Recall } from './recall.js'
import type { RequestLog } from './request-log.js'
import type { MakeShape, ServerEvent, Shape, Told } from './shapes/shape.js'
import { jsonWith } from './written-list.js'

export interface Service extends PromptSettings, LimitSettings {
  pool: SlotPool
  recall: Recall
  log: RequestLog
  /** What is generated with where a request does not say. */
  defaults: GenerateOptions
  /** All that `defaults` say of sampling, and what they leave open. */
  sampling: NativeSampling
  /** Milliseconds that a client may take nothing of what is ready for it. */
  stalledMs: number
  alias: string
  fingerprint: string
  /** Without it there is no prediction of what dense attention would take. */
  attention?: AttentionCost
  onFailure(error: unknown): void
}

export interface Endpoint {
  /** A body of another interface as one of ours. Throws ApiError 400. */
  translate?(body: RequestBody): RequestBody
  shape: MakeShape
  prompt(
    body: RequestBody,
    settings: PromptSettings,
    signal: AbortSignal,
    options: GenerateOptions,
  ): Promise<ServedPrompt>
}

interface Answered {
  summary: GenerateSummary
  ttftMs: number
  slot: number
}

/**
 * Throws what toApiError() takes, unless a stream had begun: then the error is its last event.
 *
 * @param owner shares what slots hold with nobody else
 */
export async function answer(
  service: Service,
  endpoint: Endpoint,
  asked: RequestBody,
  reply: FastifyReply,
  owner: unknown,
): Promise<string | undefined> {
  const body = endpoint.translate?.(asked) ?? asked
  refuseFields(body)
  const options = withDefaults(optionsOf(body), service.defaults)
  checkSampling(options, service.model.nVocab) // before a stream has begun
  refuseSlot(body, service.pool.size)
  const turn = service.pool.enter(owner)
  try {
    return await limited(reply, service, async (limits) => {
      const prompt = await endpoint.prompt(body, service, limits.signal, options)
      const { alias: model, fingerprint } = service
      const shape = endpoint.shape({ body: asked, model, fingerprint, nPrompt: prompt.tokens.length })
      const job = new Job(service, shape, body, options, prompt, turn, limits, reply)
      return body.stream === true ? await job.stream() : await job.whole()
    })
  } finally {
    turn.leave()
  }
}

function refuseSlot({ id_slot: id = -1 }: RequestBody, size: number): void {
  if ((id as number) < size) return
  throw new ApiError(
    400,
    'invalid_request',
    `id_slot: there are slots 0 to ${size - 1} (--parallel ${size})`,
    {
      param: 'id_slot',
    },
  )
}

/** A grammar or a schema of the request takes the place of the server's. */
function withDefaults(given: GenerateOptions, defaults: GenerateOptions): GenerateOptions {
  const { grammar: _, jsonSchema: __, ...others } = defaults
  const isConstrained = given.grammar !== undefined || given.jsonSchema !== undefined
  return { ...(isConstrained ? others : defaults), ...given }
}

class Job {
  readonly signal: AbortSignal

  constructor(
    readonly service: Service,
    readonly shape: Shape,
    readonly body: RequestBody,
    readonly options: GenerateOptions,
    readonly prompt: ServedPrompt,
    readonly turn: Turn,
    readonly limits: Limits,
    readonly reply: FastifyReply,
  ) {
    this.signal = limits.signal
  }

  /** In JSON. */
  async whole(): Promise<string> {
    const { shape, prompt, reply } = this
    const answered = await this.#run(async (_, likely) => {
      for (const token of likely) shape.likely?.(token)
    })
    const { message } = await readingOf(prompt).end(answered.summary)
    reply.type('application/json; charset=utf-8')
    return jsonWith(shape.whole(this.#told(answered, message)))
  }

  /** Headers go out at once; what fails later is an event. */
  async stream(): Promise<undefined> {
    const { shape, signal, body, prompt, reply } = this
    // behind another request of its connection nothing can be sent, and that one may wait for the slot that this one would keep
    if (!reply.raw.socket) await emitted(reply.raw, 'socket', signal)
    const reading = readingOf(prompt)
    const events = new EventStream(reply, this.service.stalledMs)
    const send = async (some: ServerEvent[]) => {
      for (const event of some) await events.send(event, signal)
    }
    const tell = async (deltas: MessageDelta[], likely: LikelyToken[], predicted: number) => {
      const told = deltas.length > 0 || likely.length === 0 ? deltas : [{ content: '' }]
      for (const [i, delta] of told.entries())
        await send(shape.piece(delta, i === 0 ? likely : [], predicted))
    }
    try {
      await send(shape.first())
      const onProgress = (progress: PromptProgress) => {
        for (const event of shape.progress(progress)) events.offer(event)
      }
      const answered = await this.#run(
        async (text, likely, predicted) => tell(await reading.push(text), likely, predicted),
        body.return_progress === true ? onProgress : undefined,
      )
      const { message, deltas } = await reading.end(answered.summary)
      await tell(deltas, [], answered.summary.predicted)
      await send(shape.last(this.#told(answered, message)))
    } catch (error) {
      if (signal.reason instanceof ClientLeft) throw error
      const known = toApiError(error)
      if (known.status === 500) this.service.onFailure(error)
      this.service.log.note(reply.raw, known.code)
      await send(shape.failed(known)).catch(() => {})
    } finally {
      events.end()
    }
  }

  async #run(
    onToken: (text: string, likely: LikelyToken[], predicted: number) => Promise<void>,
    onProgress?: (progress: PromptProgress) => void,
  ): Promise<Answered> {
    const { service, prompt, signal, options } = this
    const { id_slot: id } = this.body as { id_slot?: number }
    const taken = await this.turn.slot(prompt, signal, { reuse: options.reuse, id })
    await service.recall.prepare(taken, prompt, options.reuse)
    const toProgress = promptProgress(prompt.tokens.length)
    const course = new Course(prompt.tokens.length)
    service.log.note(this.reply.raw, course)
    const given = {
      ...promptOptions(prompt, options),
      onProgress: (now: PrefillProgress) => {
        course.progressed(now)
        onProgress?.(toProgress(now))
      },
      signal,
    }
    const generation = taken.slot.generate(prompt.tokens, given)
    try {
      let ttftMs: number | undefined
      const characters = new Utf8Stream() // stop strings hold text back, but not where a token stands
      let offset = 0
      for (;;) {
        const next = await generation.next()
        ttftMs ??= performance.now() - this.limits.began
        if (next.done) {
          service.metrics.answered(next.value, ttftMs)
          service.log.note(this.reply.raw, noteOf(next.value, ttftMs))
          service.recall.readIn(next.value.prefill)
          return { summary: next.value, ttftMs, slot: service.pool.slots.indexOf(taken.slot) }
        }
        const token: GeneratedToken = next.value
        course.generated()
        const likely = likelyToken(token, offset)
        offset += characters.push(token.bytes ?? new Uint8Array()).length
        await onToken(token.text, likely ? [likely] : [], course.predicted)
      }
    } catch (error) {
      service.metrics.brokenOff(course)
      throw error
    } finally {
      await generation.return(undefined as never) // the slot is free when it is left
    }
  }

  #told({ summary, ttftMs, slot }: Answered, message: AssistantMessage): Told {
    const { context, attention } = this.service
    const { h2o } = context
    const gain = attention && predictGainOf(summary.prefill, h2o, attention)
    const timings = timingsOf(summary, h2o, { ttftMs, gain, wasOff: this.body.h2o === false })
    return { summary, message, usage: usageOf(summary), timings, slot }
  }
}

function noteOf({ prefill, predicted }: GenerateSummary, ttftMs: number): string {
  const { position, cached, path } = prefill
  const first = (ttftMs / 1000).toFixed(2)
  return `${position} tokens, ${cached} cached, ${path}, the first after ${first} s, ${predicted} generated`
}
