/** llama.cpp's routes that need no context: tokens of a text, text of tokens, a chat as a prompt, and its length. */

import { finished } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OperationQueue } from '../../operation-queue.js'
import type { Service } from '../answer.js'
import { ApiError } from '../api-error.js'
import { optionsOf, type RequestBody } from '../fields.js'
import { limited } from '../limits.js'
import { QueueFull } from '../pool.js'
import { chatOf, tokensOf } from '../prompt.js'
import { fromMessages } from '../translate/messages.js'
import { fromResponses } from '../translate/responses.js'
import { chatBody, detokenizeBody, messagesBody, responsesBody, tokenizeBody } from './bodies.js'
import { type AddRoutes, refuseDraining } from './route.js'

interface TokenRoute {
  urls: readonly string[]
  body: object
  /** What is sent: an object, or JSON. */
  answer(body: RequestBody, service: Service, signal: AbortSignal): Promise<object | string>
}

interface TokenizeBody {
  content?: string
  add_special?: boolean
  parse_special?: boolean
}

const tokenRoutes: readonly TokenRoute[] = [
  {
    urls: ['/tokenize'],
    body: tokenizeBody,
    async answer(body, service, signal) {
      if (body.with_pieces === true) {
        const message = 'with_pieces: true is not supported'
        throw new ApiError(400, 'unsupported_parameter', message, { param: 'with_pieces' })
      }
      const { content = '', add_special = false, parse_special = true } = body as TokenizeBody
      const options = { addSpecial: add_special, parseSpecial: parse_special }
      const tokens = await tokensOf(content, service, signal, options)
      return `{"tokens":[${await writtenInTurns(tokens)}]}`
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
    async answer(body, service, signal) {
      return { prompt: (await chatOf(body, service, signal, optionsOf(body))).chat.prompt }
    },
  },
  {
    urls: ['/v1/chat/completions/input_tokens', '/chat/completions/input_tokens'],
    body: chatBody,
    async answer(body, service, signal) {
      return { object: 'response.input_tokens', input_tokens: await countOf(body, service, signal) }
    },
  },
  {
    urls: ['/v1/responses/input_tokens', '/responses/input_tokens'],
    body: responsesBody,
    async answer(body, service, signal) {
      const input_tokens = await countOf(fromResponses(body), service, signal)
      return { object: 'response.input_tokens', input_tokens }
    },
  },
  {
    urls: ['/v1/messages/count_tokens'],
    body: messagesBody,
    async answer(body, service, signal) {
      return { input_tokens: await countOf(fromMessages(body), service, signal) }
    },
  },
]

/** Tokens of a chat's prompt. */
async function countOf(body: RequestBody, service: Service, signal: AbortSignal): Promise<number> {
  const { chat } = await chatOf(body, service, signal, optionsOf(body))
  return (await tokensOf(chat.prompt, service, signal)).length
}

/** Written at once, a million of them would hold all other requests. */
async function writtenInTurns(tokens: Int32Array): Promise<string> {
  const parts: string[] = []
  for (let i = 0; i < tokens.length; i += 2 ** 16) {
    parts.push(tokens.subarray(i, i + 2 ** 16).join())
    await nextTurn()
  }
  return parts.join()
}

/** One is worked on at a time, since each takes a thread and the memory of its text. As many may wait as for contexts. */
export const addTokens: AddRoutes = (serving) => {
  const { app, service } = serving
  const queue = new OperationQueue()
  let open = 0
  for (const { urls, body, answer } of tokenRoutes) {
    for (const url of urls) {
      app.post(url, { schema: { body } }, (request, reply) => {
        refuseDraining(serving)
        if (open >= service.pool.most) throw new QueueFull(1)
        open++
        finished(reply.raw, () => open--)
        return limited(reply, service, async ({ signal }) => {
          const end = await queue.take(signal)
          try {
            reply.type('application/json')
            return await answer(request.body as RequestBody, service, signal)
          } finally {
            end()
          }
        })
      })
    }
  }
}
