// What the clients ask: documents of mixed length, each with first questions and a second turn, and short messages.

import { demoText } from '../../dist/model-maker/index.js'

/** Jinja of the server and of the fresh contexts. */
export const TEMPLATE =
  "{%- for m in messages %}{{ '[' + m.role + ']' + m.content + '\n' }}{%- endfor %}{{ '[assistant]' }}"

const shares = [1, 0.7, 0.45, 0.3, 0.2, 0.12, 0.06]
const user = (content) => ({ role: 'user', content })

/** @param longest tokens of the longest prompt, of one byte each */
export function conversations(longest) {
  const text = demoText(2 * longest)
  const documents = shares.map((share, i) => {
    const start = Math.floor((i * longest) / shares.length)
    return text.slice(start, start + Math.floor(share * (longest - 200)))
  })
  const threads = documents.flatMap((document) => [
    [user(`${document}\nWhat is this about?`)],
    [user(document), { role: 'assistant', content: 'I have read it.' }, user('Who wrote it, and when?')],
    [user(document), { role: 'assistant', content: 'I have read it.' }, user('Where?')],
  ])
  const short = ['Hello.', 'What is a llama?', text.slice(0, 300)].map((message) => [user(message)])
  const limits = [1, 8, 24]
  return [...threads, ...short].map((messages, i) => ({ messages, max_tokens: limits[i % 3] }))
}
