/**
 * A chat in a model's template, by llama.cpp's common_chat: the prompt, what the answer has to keep to, and the answer
 * as a message.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { decodeInTurns, slicesOf } from './decode-in-turns.js'
import { callNative, fromNative, invalidArgument } from './errors.js'
import { grammarText, type JsonSchema, schemaText } from './grammar.js'
import { abortable } from './native/abortable.js'
import { native } from './native/binding.js'
import type { NativeChat, NativeChatRequest, NativeModel, NativeReading } from './native/surface.js'
import { namesOf, readOptions } from './read-options.js'
import { boolean, isRecord, not, oneOf } from './validate.js'
import { wellFormedJson } from './well-formed.js'

export interface ChatMessage {
  /** 'system', 'user', 'assistant', 'tool' ...: what the template knows. */
  role: string
  /** A text, or parts of it: `[{ type: 'text', text }]` */
  content?: unknown | undefined
  /** tool_calls, tool_call_id, name, reasoning_content, as in OpenAI's interface. */
  [field: string]: unknown
}

/** 'none': tools are not called; 'required': one is; a function: this one is. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } }

export interface ChatOptions {
  /** Jinja; the model's own */
  template?: string | undefined
  /** Functions that the model may call, as in OpenAI's interface. */
  tools?: readonly object[] | undefined
  /** Which of them: 'auto' */
  toolChoice?: ToolChoice | undefined
  /** Several calls in one answer: as the template can */
  parallelToolCalls?: boolean | undefined
  /** What an answer without calls may say; see `generate` */
  grammar?: string | undefined
  jsonSchema?: JsonSchema | undefined
  /** 'none' leaves the model's thoughts in the text; 'auto' puts them into reasoning_content: 'auto' */
  reasoningFormat?: 'auto' | 'none' | undefined
  /** End with the beginning of an answer: true */
  addGenerationPrompt?: boolean | undefined
  /**
   * The last message is the assistant's, has a text and no calls, and the answer goes on behind it: its own text is
   * none of the answer's. false
   */
  continueFinalMessage?: boolean | undefined
  /** Further variables of the template: enable_thinking ... */
  variables?: Record<string, unknown> | undefined
}

export const chatOptionNames = namesOf<ChatOptions>({
  template: true,
  tools: true,
  toolChoice: true,
  parallelToolCalls: true,
  grammar: true,
  jsonSchema: true,
  reasoningFormat: true,
  addGenerationPrompt: true,
  continueFinalMessage: true,
  variables: true,
})

export interface ChatAsyncOptions extends ChatOptions {
  /** Ends it early. */
  signal?: AbortSignal | undefined
}

export const chatAsyncOptionNames = [...chatOptionNames, 'signal'] as const

/** As in OpenAI's interface. */
export interface ToolCall {
  id: string
  type: 'function'
  /** `arguments` is JSON. */
  function: { name: string; arguments: string }
}

/** What a model answered: the next message of the chat, as OpenAI has it. */
export interface AssistantMessage {
  role: 'assistant'
  /** null beside calls without a text */
  content: string | null
  reasoning_content?: string
  tool_calls?: ToolCall[]
  [field: string]: unknown
}

/** What a stream adds to a message, as OpenAI has it. */
export interface MessageDelta {
  content?: string | undefined
  reasoning_content?: string
  tool_calls?: { index: number; id?: string; type?: 'function'; function: Partial<ToolCall['function']> }[]
}

interface ParseOptions {
  /** The answer was cut short: false */
  partial?: boolean | undefined
}

const parseOptionNames = namesOf<ParseOptions>({ partial: true })

const natives = new WeakMap<object, NativeChat>()

/** For generations only: undefined for what is no chat of ours. */
export function nativeChatOf(chat: unknown): NativeChat | undefined {
  return natives.get(chat as object)
}

/** Messages in a template: made by Model.applyChatTemplate(), read by `generate(chat.prompt, { chat })`. */
export class Chat {
  /** To be read with `parseSpecial: true`. A BOS that the tokenizer adds is left out. */
  readonly prompt: string
  /** Strings that end an answer. */
  readonly stop: readonly string[]
  /** Special tokens that are a part of the answer's text. */
  readonly shown: ReadonlySet<number>
  /** Characters of the last message that an answer continues, which are read with each answer; mostly 0. */
  readonly continued: number

  /** Use Model.applyChatTemplate(). */
  constructor(chat: NativeChat, prompt: string, continued: number) {
    natives.set(this, chat)
    this.prompt = prompt
    this.continued = continued
    this.stop = chat.stops()
    this.shown = new Set(chat.shown())
  }

  /**
   * The text of an answer as a message: its calls of tools, the model's thoughts apart. Throws ERR_H2O_CHAT_ANSWER for
   * what is not in the model's format.
   */
  parse(text: string, given?: ParseOptions): AssistantMessage {
    const { partial } = readOptions('parse', given, parseOptionNames)
    return this.answer().read(text, boolean('partial', partial, false)).message
  }

  /** An answer that grows: what each text adds to the one before. */
  answer(): ChatAnswer {
    const answer = new (native().NativeAnswer)(natives.get(this) as NativeChat)
    return {
      read: (text, partial) => callNative(() => toReading(answer.read(answerText(text), partial))),
      async readAsync(text, partial) {
        try {
          return toReading(await answer.readAsync(answerText(text), partial))
        } catch (error) {
          throw fromNative(error)
        }
      },
    }
  }
}

export interface AnswerReading {
  message: AssistantMessage
  deltas: MessageDelta[]
}

export interface ChatAnswer {
  /** @param text all of the answer until now; `partial`: it may go on. Throws ERR_H2O_CHAT_ANSWER. */
  read(text: string, partial: boolean): AnswerReading
  /** The same off the main thread, for long answers; one at a time. */
  readAsync(text: string, partial: boolean): Promise<AnswerReading>
}

function answerText(text: unknown): string {
  if (typeof text !== 'string') throw invalidArgument('an answer is a text', { text: typeof text })
  return text
}

function toReading({ message, deltas }: NativeReading): AnswerReading {
  const read = JSON.parse(message) as AssistantMessage
  if (read.tool_calls && read.content === '') read.content = null
  return { message: read, deltas: JSON.parse(deltas) }
}

/** Throws ERR_H2O_CHAT_TEMPLATE, and ERR_H2O_INVALID_ARGUMENT for what are no messages or tools. */
export function applyChatTemplate(
  model: NativeModel,
  messages: readonly ChatMessage[],
  options: ChatOptions,
): Chat {
  const request = requestOf(messages, options)
  const chat = callNative(() => new (native().NativeChat)(model.renderChat(request)))
  return new Chat(chat, chat.text().toString(), continuedIn(messages, request))
}

/** The same off the main thread. */
export async function applyChatTemplateAsync(
  model: NativeModel,
  messages: readonly ChatMessage[],
  options: ChatOptions,
  signal: AbortSignal | undefined,
): Promise<Chat> {
  const request = requestOf(messages, options)
  const continued = continuedIn(messages, request) // they may be others when this has waited
  await nextTurn() // writing megabytes down and handing them over are two long turns
  const rendering = await abortable(() => model.startChat(request), signal)
  const chat = new (native().NativeChat)(rendering)
  return new Chat(chat, await decodeInTurns(slicesOf(chat.text())), continued)
}

function requestOf(messages: readonly ChatMessage[], options: ChatOptions): NativeChatRequest {
  checkMessages(messages)
  const { template = '', grammar, jsonSchema, variables = {}, parallelToolCalls } = options
  if (typeof template !== 'string') throw invalidArgument('template is a text in Jinja')
  if (!isRecord(variables)) throw invalidArgument(`variables is an object with names${not(variables)}`)
  if (grammar !== undefined && jsonSchema !== undefined) {
    throw invalidArgument('grammar and jsonSchema each say what may be said; give one of them')
  }
  const offered = toolsOf(options)
  if (offered.tools !== '' && grammar !== undefined) {
    throw invalidArgument('a grammar leaves no room for calls of tools: give one of them')
  }
  return {
    template,
    messages: written('messages', messages.map(withContent)),
    ...offered,
    ...(parallelToolCalls !== undefined && {
      parallelToolCalls: Number(boolean('parallelToolCalls', parallelToolCalls, false)),
    }),
    grammar: grammarText(grammar),
    jsonSchema: schemaText(jsonSchema),
    reasoningFormat: oneOf('reasoningFormat', options.reasoningFormat, 'auto', ['auto', 'none']),
    addGenerationPrompt: boolean('addGenerationPrompt', options.addGenerationPrompt, true),
    continueFinalMessage: continues(messages, options),
    variables: written('variables', variables),
  }
}

function continues(messages: readonly ChatMessage[], options: ChatOptions): boolean {
  if (!boolean('continueFinalMessage', options.continueFinalMessage, false)) return false
  const { role, content, reasoning_content, tool_calls } = messages.at(-1) as ChatMessage
  const isCall = Array.isArray(tool_calls) && tool_calls.length > 0
  if (role === 'assistant' && !isCall && (content || reasoning_content)) return true
  throw invalidArgument(
    'continueFinalMessage needs a last message of the assistant, with a text and no calls',
  )
}

function continuedIn(messages: readonly ChatMessage[], { continueFinalMessage }: NativeChatRequest): number {
  if (!continueFinalMessage) return 0
  const { content, reasoning_content } = messages.at(-1) as ChatMessage
  return lengthOf(content) + lengthOf(reasoning_content)
}

/** Of a text, or of its parts. */
function lengthOf(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  return content.reduce<number>((sum, part) => sum + lengthOf(part?.text), 0)
}

/** A function that has to be called is the only one, and required: llama.cpp knows no other way. */
function toolsOf({ tools = [], toolChoice = 'auto' }: ChatOptions): { tools: string; toolChoice: string } {
  if (!Array.isArray(tools)) throw invalidArgument('tools is a list of functions', { tools: typeof tools })
  if (typeof toolChoice === 'string') {
    const choice = oneOf('toolChoice', toolChoice, 'auto', ['auto', 'none', 'required'])
    if (choice === 'required' && tools.length === 0) throw invalidArgument('toolChoice needs tools')
    const offered = choice !== 'none' && tools.length > 0
    return { tools: offered ? written('tools', tools) : '', toolChoice: choice }
  }
  const name = toolChoice?.function?.name
  const named = (tools as { function?: { name?: unknown } }[]).filter((tool) => tool?.function?.name === name)
  if (typeof name !== 'string' || named.length === 0) {
    throw invalidArgument('toolChoice names a function that is not among the tools', { toolChoice })
  }
  return { tools: written('tools', named), toolChoice: 'required' }
}

/** Clients send null for what they do not give. */
function withContent(message: ChatMessage): ChatMessage {
  const given = Object.entries(message).filter(([, value]) => value !== null && value !== undefined)
  return { content: null, ...(Object.fromEntries(given) as ChatMessage) }
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalidArgument('a chat is a list of messages: [{ role, content }]', { messages: typeof messages })
  }
  for (const [i, message] of messages.entries()) {
    if (typeof message !== 'object' || message === null || typeof message.role !== 'string') {
      throw invalidArgument(`message ${i} has no role`, { index: i })
    }
  }
}

function written(name: string, value: unknown): string {
  try {
    return wellFormedJson(value)
  } catch (cause) {
    throw invalidArgument(`${name} cannot be written as JSON: ${(cause as Error).message}`)
  }
}
