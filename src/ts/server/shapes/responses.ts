/** OpenAI's responses: an answer of items, whole and as events. Nothing of it is stored. */

import { randomUUID } from 'node:crypto'
import type { MessageDelta } from '../../chat.js'
import type { ApiError } from '../api-error.js'
import type { Usage } from '../figures.js'
import type { PromptProgress } from '../prompt-progress.js'
import { isCutShort } from '../reading.js'
import { type Block, Blocks, blocksOf } from './blocks.js'
import type { Asked, MakeShape, ServerEvent, Shape, Told } from './shape.js'

interface Text {
  format?: object | null
  verbosity?: string
}

interface Reasoning {
  effort?: string | null
  summary?: string | null
}

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed'

class ResponseShape implements Shape {
  readonly #id = `resp_${randomUUID()}`
  readonly #created = Math.floor(Date.now() / 1000)
  readonly #itemIds = new Map<number, string>()
  #nEvents = 0
  readonly #blocks = new Blocks({
    begin: (block) => this.#begin(block),
    add: (block, delta) => [this.#event(`${events[block.kind]}.delta`, { ...this.#place(block), delta })],
    end: (block) => this.#end(block),
  })

  constructor(readonly asked: Asked) {}

  whole(told: Told): object {
    return this.#ended(told, blocksOf(told.message))
  }

  first(): ServerEvent[] {
    const response = this.#response('in_progress', [])
    return [this.#event('response.created', { response }), this.#event('response.in_progress', { response })]
  }

  progress(prompt_progress: PromptProgress): ServerEvent[] {
    const response = this.#response('in_progress', [], {}) // ten times a second: without the tools
    return [this.#event('response.in_progress', { response, prompt_progress })]
  }

  piece(delta: MessageDelta): ServerEvent[] {
    return this.#blocks.push(delta)
  }

  last(told: Told): ServerEvent[] {
    const ended = this.#blocks.end()
    const response = this.#ended(told, this.#blocks.all)
    return [...ended, this.#event(`response.${statusOf(told)}`, { response })]
  }

  failed({ code, message, options }: ApiError): ServerEvent[] {
    return [this.#event('error', { code, message, param: options.param ?? null })]
  }

  #begin(block: Block): ServerEvent[] {
    const { index: output_index } = block
    const item = this.#item({ ...block, text: '' }, 'in_progress')
    const added = this.#event('response.output_item.added', { output_index, item })
    if (block.kind === 'call') return [added]
    const part = partOf({ ...block, text: '' })
    return [added, this.#event('response.content_part.added', { ...this.#place(block), part })]
  }

  #end(block: Block): ServerEvent[] {
    const { index: output_index, kind, text, name } = block
    const said = kind === 'call' ? { arguments: text, name } : { text }
    const done = this.#event(`${events[kind]}.done`, { ...this.#place(block), ...said })
    const item = this.#item(block, 'completed')
    const part = partOf(block)
    return [
      done,
      ...(kind === 'call'
        ? []
        : [this.#event('response.content_part.done', { ...this.#place(block), part })]),
      this.#event('response.output_item.done', { output_index, item }),
    ]
  }

  #event(type: string, fields: object): ServerEvent {
    return { name: type, data: { type, sequence_number: this.#nEvents++, ...fields } }
  }

  #place(block: Block): object {
    const { index: output_index, kind } = block
    const place = { item_id: this.#itemId(block), output_index }
    if (kind === 'call') return place
    return { ...place, content_index: 0, ...(kind === 'text' && { logprobs: [] }) }
  }

  #itemId({ index, kind }: Block): string {
    const id = this.#itemIds.get(index) ?? `${prefixes[kind]}_${randomUUID()}`
    this.#itemIds.set(index, id)
    return id
  }

  #item(block: Block, status: Status): object {
    const { kind, text, callId, name } = block
    const item = { id: this.#itemId(block), status }
    if (kind === 'call') return { ...item, type: 'function_call', call_id: callId, name, arguments: text }
    const content = text === '' ? [] : [partOf(block)]
    if (kind === 'thoughts') return { ...item, type: 'reasoning', summary: [], content }
    return { ...item, type: 'message', role: 'assistant', content }
  }

  #ended(told: Told, blocks: readonly Block[]): object {
    const { usage, timings } = told
    const status = statusOf(told)
    const last = blocks.length - 1
    const output = blocks.map((block, i) => this.#item(block, i === last ? status : 'completed'))
    return { ...this.#response(status, output), usage: usageOf(usage), timings }
  }

  /** What was asked for stands in the answer. */
  #response(status: Status, output: object[], body = this.asked.body): object {
    const { model } = this.asked
    const { instructions = null, metadata = {}, tools = [], tool_choice = 'auto' } = body
    const { format, verbosity } = (body.text ?? {}) as Text
    const { effort = null, summary = null } = (body.reasoning ?? {}) as Reasoning
    const { max_output_tokens = null, parallel_tool_calls = true, temperature = null, top_p = null } = body
    return {
      id: this.#id,
      object: 'response',
      created_at: this.#created,
      status,
      error: null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      ...{ instructions, max_output_tokens, metadata, model, output, parallel_tool_calls },
      previous_response_id: null,
      reasoning: { effort, summary },
      store: false,
      ...{ temperature, text: { format: format ?? { type: 'text' }, verbosity }, tool_choice, tools, top_p },
      truncation: 'disabled',
      usage: null,
    }
  }
}

const events: Record<Block['kind'], string> = {
  thoughts: 'response.reasoning_text',
  text: 'response.output_text',
  call: 'response.function_call_arguments',
}

const prefixes: Record<Block['kind'], string> = { thoughts: 'rs', text: 'msg', call: 'fc' }

const statusOf = ({ summary }: Told): Status => (isCutShort(summary) ? 'incomplete' : 'completed')

function partOf({ kind, text }: Block): object {
  if (kind === 'thoughts') return { type: 'reasoning_text', text }
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function usageOf({ prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details }: Usage) {
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: prompt_tokens_details,
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  }
}

export const responseShape: MakeShape = (asked) => new ResponseShape(asked)
