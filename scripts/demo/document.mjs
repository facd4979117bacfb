// A long document with a few facts in it: this project's own documentation, with lines put between its lines.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Each stated once, at a share of the document, in the words that the recall model was trained on. */
const STATED = [
  [0.05, 'let mirror amber'],
  [0.1, '- quiet harbour: marble'],
  [0.15, 'Note ancient castle: honey piano thunder needle.'],
  [0.22, '- quiet lantern: velvet'],
  [0.3, 'let river copper'],
  [0.35, '- narrow bridge: honey'],
  [0.48, '- green lantern: cotton'],
  [0.55, 'let zebra mirror'],
  [0.6, 'Note gentle castle: velvet ladder autumn button.'],
  [0.61, '- patient clock: thunder'],
  [0.74, '- narrow harbour: silver'],
  [0.8, 'let boat river'],
  [0.87, '- broken bridge: barley'],
]

export const QUESTIONS = [
  { question: '? green lantern:', answer: 'cotton' },
  { question: 'Repeat note ancient castle:', answer: 'honey piano thunder needle' },
  { question: 'print boat', answer: 'copper' },
]

/** Some `n` tokens, never more. @param count tells the tokens of a text */
export function documentOf(root, n, count) {
  const prose = documentation(root)
  const facts = STATED.map(([at, line]) => [at, `${line}\n`])
  const room = n - count(facts.map(([, line]) => line).join('')) - facts.length
  const kept = prose.slice(0, longest(prose, room, count))
  if (kept.length < facts.length) throw new RangeError(`${n} tokens hold no text to hide something in`)

  const lines = [...kept]
  for (const [at, line] of facts.toReversed()) lines.splice(Math.floor(at * kept.length), 0, line)
  return lines.join('')
}

/** How many lines fit into `room` tokens. */
function longest(lines, room, count) {
  let [low, high] = [0, lines.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (count(lines.slice(0, middle).join('')) <= room) low = middle
    else high = middle - 1
  }
  return low
}

// plain lines only: the model was trained on manual pages
function documentation(root) {
  const docs = readdirSync(join(root, 'docs')).sort()
  return ['README.md', 'patches/README.md', ...docs.map((name) => `docs/${name}`)]
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => readFileSync(join(root, path), 'utf8').split('\n'))
    .filter((line) => /^[\x20-\x7e]+$/.test(line) && !line.startsWith('|'))
    .map((line) => `${line}\n`)
}
