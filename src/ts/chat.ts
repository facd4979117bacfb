/** Chat messages as a prompt: the model's own template, rendered by @huggingface/jinja. */

import { Template } from '@huggingface/jinja'
import { H2oError, invalidArgument } from './errors.js'

export interface ChatMessage {
  /** 'system', 'user', 'assistant', 'tool' ...: what the template knows. */
  role: string
  content?: unknown
  /** tool_calls, tool_call_id, name ...: what the template knows. */
  [field: string]: unknown
}

export interface ChatOptions {
  /** Jinja; the model's own */
  template?: string
  /** Functions that the model may call, as in OpenAI's interface. */
  tools?: readonly object[]
  /** End with the beginning of an answer: true */
  addGenerationPrompt?: boolean
  /** Further variables of the template: enable_thinking ... */
  variables?: Record<string, unknown>
}

/** What a template may ask of the model. */
export interface ChatModel {
  chatTemplate: string | null
  /** As text, '' for none. */
  bos: string
  eos: string
  addBos: boolean
}

/** Throws ERR_H2O_CHAT_TEMPLATE, and ERR_H2O_INVALID_ARGUMENT for what are no messages. */
export function formatChat(model: ChatModel, messages: readonly ChatMessage[], options: ChatOptions): string {
  const template = options.template ?? model.chatTemplate
  if (template === null) {
    throw new H2oError('ERR_H2O_CHAT_TEMPLATE', 'this model has no chat template')
  }
  checkMessages(messages)
  const { tools, addGenerationPrompt = true, variables } = options
  const text = render(template, {
    ...variables,
    messages,
    ...(tools && { tools }),
    add_generation_prompt: addGenerationPrompt,
    bos_token: model.bos,
    eos_token: model.eos,
  })
  // the tokenizer puts it there
  return model.addBos && model.bos !== '' && text.startsWith(model.bos) ? text.slice(model.bos.length) : text
}

function render(template: string, variables: Record<string, unknown>): string {
  try {
    return new Template(template).render(variables)
  } catch (cause) {
    throw new H2oError('ERR_H2O_CHAT_TEMPLATE', `the chat template fails: ${(cause as Error).message}`, {
      cause,
    })
  }
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalidArgument('formatChat takes messages: [{ role, content }]', { messages: typeof messages })
  }
  for (const [i, message] of messages.entries()) {
    if (typeof message !== 'object' || message === null || typeof message.role !== 'string') {
      throw invalidArgument(`message ${i} has no role`, { index: i })
    }
  }
}
