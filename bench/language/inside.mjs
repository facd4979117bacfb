// Questions inside of a prompt, with their answers behind them: a text goes on, and what it said far back is asked for
// again and again. One prefill with all logits tells of each answer whether its tokens are the likeliest where they stand.

import { Random } from '../../dist/model-maker/index.js'
import { sentences } from './books.mjs'
import { adjectives, different, nouns, person, towns, trades } from './words.mjs'

/** A fact is asked for when so many tokens stand behind it: more than two chunks of 512 tokens. */
const FAR = 1100

/** Share of a prompt before the first question. */
const QUIET = 0.4

/** Tokens from one question to the next. */
const STRIDE = 80

const ARGUMENTS =
  'amount margin width depth offset ratio limit weight speed angle volume factor budget delay'.split(' ')

const number = (random, digits) => String(Math.floor((1 + 9 * random.uniform()) * 10 ** (digits - 1)))

/** @param {object} random  a name that no text has */
const keyed = (join) => (random) => `${random.pick(adjectives)}${join}${random.pick(nouns)}`

/**
 * @typedef {{ text: string, ask: string, answer: string }} Fact  `ask` ends where the answer begins
 * @typedef {{ name: string, intro: string, key: (random: object) => string,
 *   fact: (key: string, random: object, earlier: Fact[]) => Fact, essay?: boolean }} InsideTask
 *   essay: sentences of a book stand between the facts
 */

/** @type {InsideTask[]} */
export const insideTasks = [
  {
    name: 'json',
    intro: 'A table of people, one JSON record in a line, and now and then a question about it.\n\n',
    key: keyed('-'),
    fact(key, random) {
      const record = {
        id: Number(number(random, 5)),
        name: key,
        city: random.pick(towns),
        trade: random.pick(trades),
        born: 1700 + Math.floor(random.uniform() * 200),
      }
      const asked = random.pick(['id', 'city', 'trade', 'born'])
      return {
        text: `${JSON.stringify(record)}\n`,
        ask: `Question: What is the ${asked} of ${key}? Answer:`,
        answer: ` ${record[asked]}`,
      }
    },
  },
  {
    name: 'csv',
    intro: 'name,city,trade,born,number\n',
    key: keyed('-'),
    fact(key, random) {
      const row = [
        random.pick(towns),
        random.pick(trades),
        String(1700 + Math.floor(random.uniform() * 200)),
        number(random, 5),
      ]
      const asked = Math.floor(random.uniform() * row.length)
      const column = ['city', 'trade', 'born', 'number'][asked]
      return {
        text: `${[key, ...row].join(',')}\n`,
        ask: `# the ${column} of ${key} is`,
        answer: ` ${row[asked]}`,
      }
    },
  },
  {
    name: 'returns',
    intro: '# Functions and their tests.\n\n',
    key: keyed('_'),
    fact(key, random) {
      const [a, b] = different(2, () => random.pick(ARGUMENTS))
      const value = number(random, 4)
      return {
        text: `def ${key}(${a}, ${b}):\n    """Uses ${a} and ${b}."""\n    return ${value}\n\n`,
        ask: `assert ${key}(1, 2) ==`,
        answer: ` ${value}`,
      }
    },
  },
  {
    name: 'arguments',
    intro: '# Functions and calls of them, with named arguments.\n\n',
    key: keyed('_'),
    fact(key, random) {
      const [a, b] = different(2, () => random.pick(ARGUMENTS))
      return {
        text: `def ${key}(${a}, ${b}):\n    return ${a} * ${number(random, 2)} + ${b}\n\n`,
        ask: `print(${key}(`,
        answer: `${a}`,
      }
    },
  },
  {
    name: 'names',
    intro: 'A novel, with notes about people in between, and questions about them.\n\n',
    key: person,
    essay: true,
    fact(key, random) {
      const town = random.pick(towns)
      const trade = random.pick(trades)
      const year = String(1700 + Math.floor(random.uniform() * 200))
      const [question, answer] = random.pick([
        [`In which town was ${key} born?`, town],
        [`In which year was ${key} born?`, year],
        [`What did ${key} work as?`, trade],
      ])
      return {
        text: `${key} was born in ${town} in ${year}, and worked as a ${trade}.\n`,
        ask: `Question: ${question} Answer:`,
        answer: ` ${answer}`,
      }
    },
  },
  {
    name: 'two-step',
    intro: 'Boxes hold numbers, or what another box holds.\n\n',
    key: keyed('-'),
    fact(key, random, earlier) {
      const same = earlier.length > 3 && random.uniform() < 0.4 ? random.pick(earlier) : null
      const value = same ? same.answer.trim() : number(random, 4)
      const first = same?.first ?? same?.key
      return {
        key,
        first,
        text: same
          ? `Box ${key} holds the same as box ${first}.\n`
          : `Box ${key} holds the number ${value}.\n`,
        ask: same
          ? `Question: What does box ${key} hold? The same as box ${first}, which holds the number`
          : `Question: What does box ${key} hold? The number`,
        answer: ` ${value}`,
      }
    },
  },
]

/**
 * @param {{ tokenize: Function }} model
 * @param {{ seed: number, essay: string }} options
 * @returns {{ task: string, length: number, index: number, ids: number[], asks: { from: number, at: number, answer: number[], text: string }[] }}
 *   from, at: where the tokens of the question and of its answer begin in ids
 */
export function makeInside(model, { seed, essay }, task, length, index) {
  const { name, intro, key, fact, essay: between = false } = insideTasks.find((one) => one.name === task)
  const random = new Random(seed, `inside/${task}/${index}`)
  const tokens = (text, first = false) => model.tokenize(text, { addSpecial: first })
  const lines = between ? sentences(essay) : []
  let line = Math.floor(random.uniform() * lines.length * 0.5)

  const ids = [...tokens(intro, true)]
  const asks = []
  const facts = [] // with where they end, until they are asked for
  const taken = new Set()
  let next = Math.max(QUIET * length, ids.length + FAR + STRIDE)

  for (;;) {
    const part = []
    let asked
    const far = facts.filter(({ end }) => end + FAR < ids.length)
    if (ids.length >= next && far.length > 0) {
      asked = random.pick(far)
      const [question, answer] = [tokens(asked.ask), tokens(asked.answer)]
      part.push(...question, ...answer, ...tokens('\n'))
      const [from, at] = [ids.length, ids.length + question.length]
      asks.push({ from, at, answer, text: `${asked.ask}${asked.answer}` })
      facts.splice(facts.indexOf(asked), 1)
      next += STRIDE
    } else {
      let own
      do own = key(random)
      while (taken.has(own))
      taken.add(own)
      const made = fact(own, random, [...facts])
      for (let i = 0; i < (between ? 3 : 0); i++) part.push(...tokens(`${lines[line++ % lines.length]} `))
      part.push(...tokens(made.text))
      facts.push({ ...made, end: ids.length + part.length })
    }
    if (ids.length + part.length > length) {
      if (asked) asks.pop()
      return { task: name, length, index, ids, asks }
    }
    ids.push(...part)
  }
}
