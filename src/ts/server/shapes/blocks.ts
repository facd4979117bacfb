/**
 * A message as the parts it has in Anthropic's interface and in OpenAI's responses: thoughts, text, calls, one behind
 * the other. What a stream adds becomes their beginnings, additions and ends.
 */

import type { AssistantMessage, MessageDelta } from '../../chat.js'
import type { ServerEvent } from './shape.js'

export type BlockKind = 'thoughts' | 'text' | 'call'

export interface Block {
  kind: BlockKind
  /** Its place in the message. */
  index: number
  /** What it holds until now; of a call its arguments, in JSON. */
  text: string
  /** Of a call: OpenAI's id, and the name of the function. */
  callId: string
  name: string
}

/** What is told of a block. */
export interface BlockEvents {
  begin(block: Block): ServerEvent[]
  add(block: Block, text: string): ServerEvent[]
  end(block: Block): ServerEvent[]
}

const silent: BlockEvents = { begin: () => [], add: () => [], end: () => [] }

export class Blocks {
  readonly all: Block[] = []
  #open: Block | undefined
  /** The place of the open call among the calls. */
  #callIndex = -1

  constructor(readonly events: BlockEvents) {}

  push({ reasoning_content, content, tool_calls = [] }: MessageDelta): ServerEvent[] {
    return [
      ...this.#add('thoughts', reasoning_content),
      ...this.#add('text', content),
      ...tool_calls.flatMap(({ index, id = '', function: { name = '', arguments: json = '' } }) => {
        const begun = index === this.#callIndex ? [] : this.#begin('call', id, name)
        this.#callIndex = index
        return [...begun, ...this.#add('call', json)]
      }),
    ]
  }

  /** The last one has ended. */
  end(): ServerEvent[] {
    const block = this.#open
    this.#open = undefined
    return block ? this.events.end(block) : []
  }

  #begin(kind: BlockKind, callId = '', name = ''): ServerEvent[] {
    const ended = this.end()
    const block = { kind, index: this.all.length, text: '', callId, name }
    this.all.push(block)
    this.#open = block
    return [...ended, ...this.events.begin(block)]
  }

  #add(kind: BlockKind, text = ''): ServerEvent[] {
    if (text === '') return []
    const begun = this.#open?.kind === kind ? [] : this.#begin(kind)
    const block = this.#open as Block
    block.text += text
    return [...begun, ...this.events.add(block, text)]
  }
}

/** Of a message that is whole. */
export function blocksOf({ reasoning_content, content, tool_calls = [] }: AssistantMessage): Block[] {
  const blocks = new Blocks(silent)
  blocks.push({
    ...(reasoning_content && { reasoning_content }),
    ...(content && { content }),
    tool_calls: tool_calls.map((call, index) => ({ ...call, index })),
  })
  return blocks.all
}
