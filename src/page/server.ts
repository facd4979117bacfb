/** The server behind the page: what it serves, the key it wants, and its answers as they come. */

import { signal } from '@preact/signals'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { Failure, failureOf } from './words.js'

export interface Served {
  model: string
  nCtx: number
  /** Without a template it continues texts. */
  canChat: boolean
}

interface Connection {
  served?: Served
  /** It wants a key, and has none or a wrong one. */
  isLocked?: boolean
  problem?: string
}

export const connection = signal<Connection>({})

const keyName = 'h2o-prefill-api-key'

export const hasKey = () => sessionStorage.getItem(keyName) !== null

export function takeKey(key: string): Promise<void> {
  sessionStorage.setItem(keyName, key.trim())
  return connect()
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const key = sessionStorage.getItem(keyName)
  const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
  let response: Response
  try {
    response = await fetch(path, { ...init, headers })
  } catch (error) {
    init.signal?.throwIfAborted()
    throw unreachable(error)
  }
  if (response.ok) return response
  if (response.status === 401) connection.value = { ...connection.value, isLocked: true }
  const body = await response.json().catch(() => undefined)
  throw failureOf(response.status, body, response.headers.get('retry-after'))
}

const unreachable = (cause: unknown) =>
  new Failure('The server does not answer. See whether it still runs, then try again.', undefined, { cause })

/** Resolves when it is known what is served, or why it is not. */
let connecting = Promise.resolve()

/** Asks what is served. */
export function connect(): Promise<void> {
  connecting = askWhatIsServed()
  return connecting
}

async function askWhatIsServed(): Promise<void> {
  try {
    const response = await request('props')
    const { model_alias, chat_template, default_generation_settings } = await response.json()
    const { n_ctx } = default_generation_settings
    connection.value = { served: { model: model_alias, nCtx: n_ctx, canChat: chat_template !== '' } }
    document.title = `${model_alias} · h2o-prefill`
  } catch (error) {
    const { message, status } = error as Failure
    connection.value = status === 401 ? { isLocked: true } : { problem: message }
  }
}

export type Path = 'h2o' | 'dense'

export interface Progress {
  total: number
  cache: number
  processed: number
  time_ms: number
  /** null: nothing is known yet. */
  path: Path | null
}

export interface Timings {
  cache_n: number
  prompt_n: number
  prompt_ms: number
  prompt_per_second: number
  predicted_n: number
  predicted_per_second: number
  h2o: { path: Path; gain_predicted: number | null }
}

export interface Piece {
  progress?: Progress
  text?: string
  thought?: string
  timings?: Timings
}

export interface Asked {
  text: string
  /** None: the text is read, and nothing is said. */
  question?: string
}

/** Throws Failure, and the reason of the signal. */
export async function* answer(asked: Asked, signal: AbortSignal): AsyncGenerator<Piece> {
  await connecting
  const canChat = connection.value.served?.canChat !== false
  const path = canChat ? 'v1/chat/completions' : 'v1/completions'
  const limits = asked.question === undefined ? { max_tokens: 0 } : {}
  const body = { ...(canChat ? chatOf(asked) : continuationOf(asked)), ...limits }
  const sent = JSON.stringify({ ...body, stream: true, return_progress: true })
  const { body: stream } = await request(path, { method: 'POST', body: sent, signal })
  const events = stream?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  let hasEnded = false
  try {
    for await (const { data } of events ?? []) {
      if (data === '[DONE]') continue
      const piece = pieceOf(JSON.parse(data))
      hasEnded ||= piece.timings !== undefined
      yield piece
    }
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof Failure ? error : unreachable(error)
  }
  if (!hasEnded) throw new Failure('The answer broke off. See whether the server still runs, then ask again.')
}

// biome-ignore lint/suspicious/noExplicitAny: what the server of this page sends
function pieceOf({ error, choices, prompt_progress, timings }: any): Piece {
  if (error) throw failureOf(500, { error }, null)
  const [{ delta, text } = {} as never] = choices ?? []
  return {
    progress: prompt_progress,
    text: delta?.content ?? text,
    thought: delta?.reasoning_content,
    timings,
  }
}

const user = (content: string) => ({ role: 'user', content })

/** A question is a message of its own: the server lets it see all of the text. Templates want an answer between two. */
function chatOf({ text, question }: Asked) {
  const read = text === '' ? [] : [user(text)]
  if (question === undefined) return { messages: read }
  const between =
    text === '' ? [] : [{ role: 'assistant', content: 'I have read it. What is your question?' }]
  return { messages: [...read, ...between, user(question)] }
}

/** A model that cannot chat writes on: a line, as one that only learnt to write would not end. */
function continuationOf({ text, question }: Asked) {
  if (question === undefined) return { prompt: text }
  return { prompt: text === '' ? question : `${text}\n${question}`, stop: ['\n'], max_tokens: 256 }
}
