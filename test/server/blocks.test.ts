/** Thoughts, text and calls behind each other, as events of Anthropic's interface and of OpenAI's responses. */

import { describe, expect, it } from 'vitest'
import type { AssistantMessage, MessageDelta } from '../../src/ts/chat.js'
import type { GenerateSummary } from '../../src/ts/index.js'
import type { Timings } from '../../src/ts/server/figures.js'
import { messageShape } from '../../src/ts/server/shapes/messages.js'
import { responseShape } from '../../src/ts/server/shapes/responses.js'
import type { ServerEvent, Shape } from '../../src/ts/server/shapes/shape.js'

const asked = { body: {}, model: 'tiny', fingerprint: 'f', nPrompt: 10 }
const call = (index: number, args: string, name?: string) => ({
  tool_calls: [
    { index, ...(name && { id: `call_${index}` }), function: { ...(name && { name }), arguments: args } },
  ],
})
const deltas: MessageDelta[] = [
  { reasoning_content: 'h' },
  { reasoning_content: 'm' },
  { content: 'I as' },
  { content: 'k.' },
  call(0, '', 'weather'),
  call(0, '{"city":'),
  call(0, '"Rome"}'),
  call(1, '{}', 'clock'),
]
const toolCall = (id: string, name: string, json: string) => ({
  ...{ id, type: 'function' as const, function: { name, arguments: json } },
})
const message: AssistantMessage = {
  role: 'assistant',
  content: 'I ask.',
  reasoning_content: 'hm',
  tool_calls: [toolCall('call_0', 'weather', '{"city":"Rome"}'), toolCall('call_1', 'clock', '{}')],
}
const told = {
  message,
  summary: { stop: 'eos', stopString: null } as GenerateSummary,
  usage: {
    ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    prompt_tokens_details: { cached_tokens: 4 },
  },
  timings: {} as Timings,
  slot: 0,
}

interface Data {
  type: string
  index?: number
  output_index?: number
  delta?: unknown
  response?: { output: unknown[] }
}
const events = (shape: Shape) =>
  [...shape.first(), ...deltas.flatMap((delta) => shape.piece(delta, [], 1)), ...shape.last(told)].map(
    ({ name, data }: ServerEvent) => {
      expect((data as Data).type).toBe(name)
      return data as Data
    },
  )

const content = [
  { type: 'thinking', thinking: 'hm', signature: '' },
  { type: 'text', text: 'I ask.' },
  { type: 'tool_use', id: 'call_0', name: 'weather', input: { city: 'Rome' } },
  { type: 'tool_use', id: 'call_1', name: 'clock', input: {} },
]

describe('messages', () => {
  it('are whole', () => {
    expect(messageShape(asked).whole(told)).toMatchObject({ content, stop_reason: 'tool_use' })
  })

  it('begin, go on and end, one block after the other', () => {
    const said = events(messageShape(asked)).filter(({ index }) => index !== undefined)
    const short = said.map(({ type, index, delta }) => [index, type.replace('content_block_', ''), delta])
    const [start, stop] = [(i: number) => [i, 'start', undefined], (i: number) => [i, 'stop', undefined]]
    expect(short).toEqual([
      start(0),
      [0, 'delta', { type: 'thinking_delta', thinking: 'h' }],
      [0, 'delta', { type: 'thinking_delta', thinking: 'm' }],
      stop(0),
      start(1),
      [1, 'delta', { type: 'text_delta', text: 'I as' }],
      [1, 'delta', { type: 'text_delta', text: 'k.' }],
      stop(1),
      start(2),
      [2, 'delta', { type: 'input_json_delta', partial_json: '{"city":' }],
      [2, 'delta', { type: 'input_json_delta', partial_json: '"Rome"}' }],
      stop(2),
      start(3),
      [3, 'delta', { type: 'input_json_delta', partial_json: '{}' }],
      stop(3),
    ])
  })
})

describe('responses', () => {
  const output = [
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
    { type: 'message', content: [{ type: 'output_text', text: 'I ask.' }] },
    { type: 'function_call', call_id: 'call_0', name: 'weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call', call_id: 'call_1', name: 'clock', arguments: '{}' },
  ]

  it('are whole', () => {
    expect(responseShape(asked).whole(told)).toMatchObject({ output, status: 'completed' })
  })

  it('begin, go on and end, one item after the other, and end with all of them', () => {
    const said = events(responseShape(asked))
    expect(said.at(-1)).toMatchObject({ type: 'response.completed', response: { output } })
    const done = said.filter(({ type }) => type === 'response.output_item.done')
    expect(done.map((event) => (event as { item?: unknown }).item)).toEqual(said.at(-1)?.response?.output)
    const kinds = (i: number) => said.filter((one) => one.output_index === i).map(({ type }) => type.slice(9))
    const of = (kind: string) => [`${kind}.delta`, `${kind}.delta`, `${kind}.done`]
    const part = ['output_item.added', 'content_part.added']
    const ended = ['content_part.done', 'output_item.done']
    expect(kinds(0)).toEqual([...part, ...of('reasoning_text'), ...ended])
    expect(kinds(1)).toEqual([...part, ...of('output_text'), ...ended])
    expect(kinds(2)).toEqual(['output_item.added', ...of('function_call_arguments'), 'output_item.done'])
    expect(said.every((event, i) => (event as { sequence_number?: number }).sequence_number === i)).toBe(true)
  })
})
