/** llama.cpp's routes that need no context: tokens of a text, text of tokens, a chat as a prompt, and its length. */

import { isUtf8 } from 'node:buffer'
import { finished } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OperationQueue } from '../../operation-queue.js'
import { handleOf } from '../../sequence.js'
import type { Service } from '../answer.js'
import { ApiError } from '../api-error.js'
import { optionsOf, type RequestBody } from '../fields.js'
import { limited } from '../limits.js'
import { QueueFull } from '../pool.js'
import { chatOf, makesGrammar, tokensOf } from '../prompt.js'
import { fromMessages } from '../translate/messages.js'
import { fromResponses } from '../translate/responses.js'
import { chatBody, detokenizeBody, messagesBody, mostTokens, responsesBody, tokenizeBody } from './bodies.js'
import { type AddRoutes, refuseDraining } from './route.js'

interface TokenRoute {
  urls: readonly string[]
  body: object
  /** What is sent: an object, or JSON. */
  answer(body: RequestBody, service: Service, turn: Turn): Promise<object | string>
}

interface Turn {
  signal: AbortSignal
  /** Gives up the place for so long. */
  aside<T>(work: () => Promise<T>): Promise<T>
}

interface TokenizeBody {
  content?: string
  add_special?: boolean
  parse_special?: boolean
  with_pieces?: boolean
}

const tokenRoutes: readonly TokenRoute[] = [
  {
    urls: ['/tokenize'],
    body: tokenizeBody,
    async answer(body, service, { signal }) {
      const { content = '', add_special, parse_special = true, with_pieces } = body as TokenizeBody
      const options = { addSpecial: add_special === true, parseSpecial: parse_special }
      const tokens = await tokensOf(content, service, signal, options)
      const written = with_pieces ? withPieces(tokens, service) : idsOf
      return `{"tokens":[${await writtenInTurns(tokens, written)}]}`
    },
  },
  {
    urls: ['/detokenize'],
    body: detokenizeBody,
    async answer({ tokens = [] }, { model }) {
      return { content: model.detokenize(tokens as number[], { unparseSpecial: true }) }
    },
  },
  {
    urls: ['/apply-template'],
    body: chatBody,
    async answer(body, service, turn) {
      return { prompt: await promptOf(body, service, turn) }
    },
  },
  {
    urls: ['/v1/chat/completions/input_tokens', '/chat/completions/input_tokens'],
    body: chatBody,
    async answer(body, service, turn) {
      return { object: 'response.input_tokens', input_tokens: await countOf(body, service, turn) }
    },
  },
  {
    urls: ['/v1/responses/input_tokens', '/responses/input_tokens'],
    body: responsesBody,
    async answer(body, service, turn) {
      const input_tokens = await countOf(fromResponses(body), service, turn)
      return { object: 'response.input_tokens', input_tokens }
    },
  },
  {
    urls: ['/v1/messages/count_tokens'],
    body: messagesBody,
    async answer(body, service, turn) {
      return { input_tokens: await countOf(fromMessages(body), service, turn) }
    },
  },
]

/** Tokens of a chat's prompt. */
async function countOf(body: RequestBody, service: Service, turn: Turn): Promise<number> {
  return (await tokensOf(await promptOf(body, service, turn), service, turn.signal)).length
}

/** llama.cpp writes no chat without its grammar, which takes seconds and waits for others. No text waits for it. */
async function promptOf(body: RequestBody, service: Service, { signal, aside }: Turn): Promise<string> {
  const options = optionsOf(body)
  const write = async () => (await chatOf(body, service, signal, options)).chat.prompt
  return makesGrammar(body, options) ? aside(write) : write()
}

const idsOf = (tokens: Int32Array) => tokens.join()

/** Throws ApiError 400 for more tokens than /detokenize takes. */
function withPieces(tokens: Int32Array, { context }: Service): (some: Int32Array) => string {
  if (tokens.length > mostTokens) {
    const message = `with_pieces: true is for ${mostTokens} tokens at most; the text has ${tokens.length}`
    throw new ApiError(400, 'invalid_request', message, { param: 'with_pieces' })
  }
  const handle = context[handleOf]()
  const written = new Map<number, string>()
  const write = (id: number) => {
    const bytes = handle.piece(id, true)
    const text = JSON.stringify({ id, piece: isUtf8(bytes) ? Buffer.from(bytes).toString() : [...bytes] })
    written.set(id, text)
    return text
  }
  return (some) => Array.from(some, (id) => written.get(id) ?? write(id)).join()
}

/** Written at once, a million of them would hold all other requests. */
async function writtenInTurns(tokens: Int32Array, write: (some: Int32Array) => string): Promise<string> {
  const parts: string[] = []
  for (let i = 0; i < tokens.length; i += 2 ** 14) {
    parts.push(write(tokens.subarray(i, i + 2 ** 14)))
    await nextTurn()
  }
  return parts.join()
}

/** Characters of answers that clients have not taken; beyond, the next request gets 429. */
const mostUntaken = 2 ** 25

/** One is worked on at a time, since each takes a thread and the memory of its text. As many may wait as for slots. */
export const addTokens: AddRoutes = (serving) => {
  const { app, service } = serving
  const queue = new OperationQueue()
  let open = 0
  let untaken = 0
  for (const { urls, body, answer } of tokenRoutes) {
    for (const url of urls) {
      app.post(url, { schema: { body } }, (request, reply) => {
        refuseDraining(serving)
        if (open >= service.pool.most) throw new QueueFull(1)
        open++
        finished(reply.raw, () => open--)
        return limited(reply, service, async ({ signal }) => {
          let leave = () => {}
          const enter = async () => {
            leave = await queue.take(signal)
            if (untaken > mostUntaken) throw new QueueFull(1)
          }
          const aside: Turn['aside'] = async (work) => {
            leave()
            const made = await work()
            await enter()
            return made
          }
          try {
            await enter()
            const given = await answer(request.body as RequestBody, service, { signal, aside })
            const text = typeof given === 'string' ? given : JSON.stringify(given)
            untaken += text.length
            finished(reply.raw, () => {
              untaken -= text.length
            })
            reply.type('application/json')
            return text
          } finally {
            leave()
          }
        })
      })
    }
  }
}
