/** The routes that answer with what the model says. */

import type { FastifyRequest } from 'fastify'
import { answer, type Endpoint } from '../answer.js'
import type { RequestBody } from '../fields.js'
import { chatPrompt, textPrompt } from '../prompt.js'
import { completionShape } from '../shapes/completion.js'
import { messageShape } from '../shapes/messages.js'
import { chatShape, textShape } from '../shapes/openai.js'
import { responseShape } from '../shapes/responses.js'
import { fromMessages } from '../translate/messages.js'
import { fromResponses } from '../translate/responses.js'
import { chatBody, completionBody, messagesBody, responsesBody } from './bodies.js'
import { type AddRoutes, refuseDraining } from './route.js'

interface AnsweringRoute extends Endpoint {
  urls: readonly string[]
  body: object
}

const answering: readonly AnsweringRoute[] = [
  {
    urls: ['/v1/chat/completions', '/chat/completions'],
    body: chatBody,
    shape: chatShape,
    prompt: chatPrompt,
  },
  { urls: ['/v1/completions'], body: completionBody, shape: textShape, prompt: textPrompt },
  {
    urls: ['/v1/messages'],
    body: messagesBody,
    shape: messageShape,
    prompt: chatPrompt,
    translate: fromMessages,
  },
  {
    urls: ['/v1/responses', '/responses'],
    body: responsesBody,
    shape: responseShape,
    prompt: chatPrompt,
    translate: fromResponses,
  },
  { urls: ['/completion', '/completions'], body: completionBody, shape: completionShape, prompt: textPrompt },
]

export const addAnswers: AddRoutes = (serving) => {
  const { app, service, ownerOf } = serving
  for (const { urls, body, ...endpoint } of answering) {
    for (const url of urls) {
      app.post(url, { schema: { body } }, (request: FastifyRequest, reply) => {
        refuseDraining(serving)
        return answer(service, endpoint, request.body as RequestBody, reply, ownerOf(request))
      })
    }
  }
}
