// Chat templates, messages, tools and answers, drawn from their parts. A template comes with a stranger's file and the
// rest from a server's clients: what is refused has a code, and a message is one.

import { tinyContext } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'
import { schemaOf } from './grammar.mjs'

const CHATML =
  "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{%- endfor %}" +
  "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>' }}{% endif %}"
const CALLS =
  "{%- if tools %}{{ '[tools]' + (tools | tojson) + '\n' }}{% endif %}{%- for m in messages %}{{- '[' + m.role + ']' }}" +
  "{%- if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}{{- m.content }}" +
  '{%- for c in m.tool_calls or [] %}{{- \'~{"name": "\' + c.function.name + \'", "arguments": \' + ' +
  "(c.function.arguments | tojson) + '}~' }}{%- endfor %}{%- endfor %}{%- if add_generation_prompt %}[assistant]{% endif %}"
const PARTS = [
  ...'{{ }} {% %} ( ) [ ] |tojson |length .content m none x ~ " \' - \0 é <think> </think> <tool_call>'.split(
    ' ',
  ),
  ...'[TOOL_CALLS] [ARGS] [SYSTEM_PROMPT] <|channel|> <|tool_call> functions. >>>all <function'.split(' '),
  ...'<|tool_calls_section_begin|> <|tool_call_begin|> <|START_ACTION|> <parameter= <minimax:tool_call>'.split(
    ' ',
  ),
  '{% for x in range(9) %}',
  '{% endfor %}',
  '{% if tools %}',
  '{% endif %}',
  '{% set x = [1] %}',
  '{%- macro a(b) %}{{ a(b) }}{%- endmacro %}',
  '{{ a(1) }}',
  '{{ x[::0] }}',
  '{{ x[1:-5:-1] }}',
  '{{ 1 // 0 }}',
  '{{ 1 % 0 }}',
  '{{ "a".split("") }}',
  '{{ "a".replace("", "b") }}',
  '{{ namespace(a=1) }}',
  '>>>$' + '{recipient}',
]
const ANSWER = [
  ...'~ { } [ ] : " \\u00 name text <think> </think> <tool_call> [TOOL_CALLS]f[ARGS]{} to=functions.f'.split(
    ' ',
  ),
  '~{"name": "f", "arguments": {"a": "b"}}~',
  '<|channel|>analysis<|message|>',
  '\n',
]

function templateOf(draw) {
  let text = draw.pick([CALLS, CALLS, CHATML, '{{ messages }}'])
  for (let i = draw.int(0, 3); i > 0; i--) {
    const at = draw.int(0, text.length)
    const part = draw.pick([...PARTS, text.slice(draw.int(0, text.length), draw.int(0, text.length))])
    text = text.slice(0, at) + part + text.slice(at + draw.pick([0, 0, 1, 7]))
  }
  return text
}

function oddValue(draw, depth) {
  if (depth > 0 && draw.chance(0.5)) return schemaOf(draw, depth)
  return draw.pick([null, 'x', 5, true, [], {}])
}

const toolOf = (draw) =>
  draw.weighted([
    [
      9,
      {
        type: 'function',
        function: { name: draw.pick(['f', 'g', '', 'é"~']), parameters: schemaOf(draw, 2) },
      },
    ],
    [9, { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: {} } } } }],
    [1, oddValue(draw, 1)],
  ])

function messageOf(draw) {
  const args = draw.pick(['{}', '{"a": 1}', '', '[', '"x"', { a: 1 }])
  const calls = [{ id: '1', type: 'function', function: { name: 'f', arguments: args } }]
  return {
    role: draw.pick(['user', 'assistant', 'system', 'tool', 'developer', '']),
    content: draw.pick(['Hi', 'Hi', '', null, [{ type: 'text', text: 'a' }], draw.pick(ANSWER)]),
    ...(draw.chance(0.3) && { tool_calls: draw.pick([calls, calls, oddValue(draw, 1)]) }),
    ...(draw.chance(0.2) && { reasoning_content: draw.pick(['hm', 'hm', oddValue(draw, 1)]) }),
    ...(draw.chance(0.2) && { tool_call_id: '1', name: 'f' }),
  }
}

export function recipe(draw, seed) {
  const options = {
    template: templateOf(draw),
    ...(draw.chance(0.6) && { tools: draw.list(draw.int(1, 2), () => toolOf(draw)) }),
    ...(draw.chance(0.4) && { toolChoice: draw.pick(['auto', 'none', 'required']) }),
    ...(draw.chance(0.2) && {
      variables: { enable_thinking: draw.pick([true, false]), x: oddValue(draw, 1) },
    }),
    ...(draw.chance(0.2) && { jsonSchema: JSON.stringify(schemaOf(draw, 2)) }),
    ...(draw.chance(0.3) && { parallelToolCalls: draw.chance(0.5) }),
    ...(draw.chance(0.3) && { reasoningFormat: 'none' }),
  }
  const messages = draw.list(draw.int(1, 4), () => messageOf(draw))
  const answer = draw.list(draw.int(0, 12), () => draw.pick(ANSWER))
  return { kind: 'chat', messages, options, answer, generates: draw.chance(0.2), seed }
}

let context

export async function run({ messages, options, answer, generates, seed }) {
  context ??= await tinyContext()
  try {
    const chat = context.model.applyChatTemplate(messages, options)
    if (generates) {
      const given = { chat, nPredict: 12, temperature: 3, seed }
      for await (const { text } of context.generate(chat.prompt.slice(-300) || 'a', given)) {
        promise(typeof text === 'string', 'a token without a text')
      }
    }
    const growing = chat.answer()
    let text = ''
    for (const part of answer) {
      text += part
      growing.read(text, true)
    }
    promise(chat.parse(text).role === 'assistant', 'an answer that is no message')
    return 'read'
  } catch (error) {
    return codeOf(error)
  }
}
