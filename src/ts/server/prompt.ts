/** What a request asks the model: tokens, and how many at their end are dense. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Chat, ChatMessage, ChatOptions } from '../chat.js'
import type { GenerateOptions } from '../generate.js'
import type { Model, TokenizeOptions } from '../model.js'
import { OperationQueue } from '../operation-queue.js'
import { handleOf, type Sequence } from '../sequence.js'
import type { DecodeKeys } from '../types.js'
import { tokenIds } from '../validate.js'
import { ApiError } from './api-error.js'
import { continued, lastQuestion, toChatMessages } from './chat-messages.js'
import { denseTail } from './dense-tail.js'
import type { RequestBody } from './fields.js'
import { lastIndex } from './last-index.js'

export interface ServedPrompt {
  tokens: Int32Array
  denseTail: number
  /** Keys that a query head reads as it decodes; the context's unless given. */
  decode?: DecodeKeys
  /** Of a chat: how its answer is read. */
  chat?: Chat
}

export interface PromptSettings {
  model: Model
  /** Of the server. */
  context: Sequence
  /** In place of the model's own. */
  template?: string
  /** A last message of the assistant is continued. */
  prefillAssistant: boolean
  /** Characters of a chat in its template: as many as a body may have. */
  maxText: number
}

/** How a prompt is read and answered. What a chat may say is a part of it. */
export function promptOptions(
  { denseTail, decode, chat }: ServedPrompt,
  options: GenerateOptions,
): GenerateOptions {
  const own = { denseTail, ...(decode !== undefined && { decode }) }
  if (!chat) return { ...options, ...own }
  const { grammar: _, jsonSchema: __, ...others } = options
  return { ...others, ...own, chat }
}

const asPrompt = { addSpecial: true, parseSpecial: true }

/**
 * What an answer may say becomes a grammar, one after the other: of a short schema it can take gigabytes. The shortest goes first,
 * so that many long ones are no wall before it.
 */
const grammars = new OperationQueue()

/** Whether one is made of what a body and its options say. */
export function makesGrammar(
  { tools, tool_choice }: RequestBody,
  { grammar, jsonSchema }: GenerateOptions,
): boolean {
  const callsTools = (tools as unknown[] | undefined)?.length && tool_choice !== 'none'
  return grammar !== undefined || jsonSchema !== undefined || Boolean(callsTools)
}

/** The messages of a body in the template. `options`: their grammar and schema become a part of the chat. */
export async function chatOf(
  body: RequestBody,
  { model, template, prefillAssistant, maxText }: PromptSettings,
  signal: AbortSignal,
  constraint: GenerateOptions,
): Promise<{ chat: Chat; messages: ChatMessage[] }> {
  const { grammar, jsonSchema } = constraint
  const { continue_final_message: isContinued = prefillAssistant } = body
  const { messages, continueFinalMessage } = continued(
    toChatMessages(body.messages as ChatMessage[]),
    isContinued === true,
  )
  await nextTurn() // writing them down takes as long as reading them took
  const options = given(body)
  const source = makesGrammar(body, constraint) && JSON.stringify([grammar, jsonSchema, options.tools])
  const end = source ? await grammars.take(signal, 'alone', source.length) : undefined
  try {
    const chat = await model.applyChatTemplateAsync(messages, {
      signal,
      continueFinalMessage,
      ...(template !== undefined && { template }),
      ...(grammar !== undefined && { grammar }),
      ...(jsonSchema !== undefined && { jsonSchema }),
      ...options,
    })
    if (chat.prompt.length > maxText) throw textTooLong(chat.prompt.length, maxText)
    return { chat, messages }
  } finally {
    end?.()
  }
}

/** Indented tools are many times as long as they were sent. */
function textTooLong(length: number, most: number): ApiError {
  const message = `the template makes ${length} characters of this chat; ${most} are the most (--max-body)`
  return new ApiError(400, 'context_length_exceeded', message, { h2oCode: 'ERR_H2O_PROMPT_TOO_LONG' })
}

/** From so many characters on texts are taken one after the other: 16 MiB take 1 to 1.5 GB while they become tokens. */
const longText = 2 ** 18
const longTexts = new OperationQueue()

/** Of a text of a prompt. */
export async function tokensOf(
  text: string,
  { model }: Pick<PromptSettings, 'model'>,
  signal: AbortSignal,
  options: TokenizeOptions = asPrompt,
): Promise<Int32Array> {
  const end = text.length < longText ? undefined : await longTexts.take(signal)
  try {
    return await model.tokenizeAsync(text, { ...options, signal })
  } finally {
    end?.()
  }
}

/** @param options their grammar and schema become a part of the chat */
export async function chatPrompt(
  body: RequestBody,
  settings: PromptSettings,
  signal: AbortSignal,
  options: GenerateOptions,
): Promise<ServedPrompt> {
  const { chat, messages } = await chatOf(body, settings, signal, options)
  const text = chat.prompt
  const tokens = await tokensOf(text, settings, signal)
  checkFit(tokens, settings)
  const question = lastQuestion(messages)
  const at = question === undefined ? -1 : lastIndex(text, question)
  const asked =
    at < 0
      ? undefined
      : (await tokensOf(text.slice(at), settings, signal, { ...asPrompt, addSpecial: false })).length
  return { ...served(tokens, asked, body, settings), chat }
}

/** What a body says of the chat, under the names of ChatOptions. */
function given(body: RequestBody): ChatOptions {
  const { tools, tool_choice, parallel_tool_calls, reasoning_format, chat_template_kwargs } = body
  return Object.fromEntries(
    Object.entries({
      tools,
      toolChoice: tool_choice,
      parallelToolCalls: parallel_tool_calls,
      reasoningFormat: reasoning_format,
      variables: chat_template_kwargs,
    }).filter(([, value]) => value !== undefined),
  )
}

/** A text or token ids, or a list with one of these. */
export async function textPrompt(
  body: RequestBody,
  settings: PromptSettings,
  signal: AbortSignal,
): Promise<ServedPrompt> {
  const { prompt } = body
  const one = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt[0] : prompt
  if (Array.isArray(prompt) && one !== prompt && prompt.length > 1) {
    throw new ApiError(400, 'unsupported_parameter', 'one prompt is answered per request', {
      param: 'prompt',
    })
  }
  const tokens =
    typeof one === 'string'
      ? await tokensOf(one, settings, signal)
      : tokenIds(one as number[], settings.model.nVocab)
  checkFit(tokens, settings)
  return served(tokens, undefined, body, settings)
}

/** Before more is done with it, before it waits for a context, and before a stream has begun. */
function checkFit({ length }: Int32Array, { context }: PromptSettings): void {
  if (length === 0) throw new ApiError(400, 'ERR_H2O_EMPTY_PROMPT', 'the prompt holds no tokens')
  if (length <= context.nCtx) return
  const message = `This model's maximum context length is ${context.nCtx} tokens; the prompt has ${length}`
  throw new ApiError(400, 'context_length_exceeded', message, { h2oCode: 'ERR_H2O_PROMPT_TOO_LONG' })
}

function served(
  tokens: Int32Array,
  question: number | undefined,
  { h2o }: RequestBody,
  { context }: PromptSettings,
): ServedPrompt {
  const { chunk, denseTail: least } = context.h2o
  if (h2o === false) return { tokens, denseTail: tokens.length, decode: 0 }
  const { dense_tail: given, decode } = (h2o ?? {}) as { dense_tail?: number; decode?: DecodeKeys }
  if (decode !== undefined) context[handleOf]().keysOf(decode) // throws before a stream has begun
  const tail = denseTail(tokens.length, question, { chunk, least: given ?? least })
  return { tokens, denseTail: tail, ...(decode !== undefined && { decode }) }
}
