/** What a request asks the model: tokens, and how many at their end are dense. */

import type { ChatMessage } from '../chat.js'
import type { Context } from '../context.js'
import type { Model } from '../model.js'
import { tokenIds } from '../validate.js'
import { ApiError } from './api-error.js'
import { lastQuestion, toChatMessages } from './chat-messages.js'
import { denseTail } from './dense-tail.js'
import type { RequestBody } from './fields.js'

export interface ServedPrompt {
  tokens: Int32Array
  denseTail: number
}

export interface PromptSettings {
  model: Model
  /** Of the server's contexts, which are alike. */
  context: Context
  /** In place of the model's own. */
  template?: string
}

const asPrompt = { addSpecial: true, parseSpecial: true }

export async function chatPrompt(
  body: RequestBody,
  settings: PromptSettings,
  signal: AbortSignal,
): Promise<ServedPrompt> {
  const { model, template } = settings
  const messages = toChatMessages(body.messages as ChatMessage[])
  const tools = body.tool_choice === 'none' ? undefined : (body.tools as object[] | undefined)
  const text = model.formatChat(messages, {
    ...(template !== undefined && { template }),
    ...(tools && tools.length > 0 && { tools }),
    ...(body.chat_template_kwargs !== undefined && {
      variables: body.chat_template_kwargs as Record<string, unknown>,
    }),
  })
  const tokens = await model.tokenizeAsync(text, { ...asPrompt, signal })
  const question = lastQuestion(messages)
  const at = question === undefined ? -1 : text.lastIndexOf(question)
  const asked =
    at < 0
      ? undefined
      : (await model.tokenizeAsync(text.slice(at), { ...asPrompt, addSpecial: false, signal })).length
  return served(tokens, asked, body, settings)
}

/** A text, a list with one text, or token ids. */
export async function textPrompt(
  body: RequestBody,
  settings: PromptSettings,
  signal: AbortSignal,
): Promise<ServedPrompt> {
  const { prompt } = body
  const one = Array.isArray(prompt) && typeof prompt[0] === 'string' ? prompt[0] : prompt
  if (Array.isArray(prompt) && one !== prompt && prompt.length > 1) {
    throw new ApiError(400, 'unsupported_parameter', 'one prompt is answered per request', {
      param: 'prompt',
    })
  }
  const tokens =
    typeof one === 'string'
      ? await settings.model.tokenizeAsync(one, { ...asPrompt, signal })
      : tokenIds(one as number[], settings.model.nVocab)
  return served(tokens, undefined, body, settings)
}

function served(
  tokens: Int32Array,
  question: number | undefined,
  { h2o }: RequestBody,
  { context }: PromptSettings,
): ServedPrompt {
  const { chunk, denseTail: least } = context.h2o
  if (h2o === false) return { tokens, denseTail: tokens.length }
  const given = (h2o as { dense_tail?: number } | undefined)?.dense_tail
  return { tokens, denseTail: denseTail(tokens.length, question, { chunk, least: given ?? least }) }
}
