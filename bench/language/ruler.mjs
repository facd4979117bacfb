// Tasks after the definition of RULER (Hsieh et al. 2024, arXiv 2404.06654, section 3 and appendix B): built here, with
// other words and texts. A task makes an item of `size` units of filling; item.mjs finds the size that fits a length.

import {
  adjectives,
  different,
  keys,
  nouns,
  numbers,
  person,
  shuffle,
  towns,
  trades,
  uuids,
} from './words.mjs'

/**
 * @typedef {{ intro: string, document: string, question: string, prefix: string, answers: string[] }} Item
 *   prefix: how the answer begins. answers: each counts by itself
 * @typedef {{ random: object, size: number, essay: string[] }} Draw  essay: sentences, `size` or more
 * @typedef {{ name: string, predict: number, least: number, make: (draw: Draw) => Item }} Task
 *   predict: tokens that an answer may take. least: the smallest size
 */

const NOISE =
  'The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.'.split('. ')
const noiseLine = (i) => `${NOISE[i % NOISE.length].replace(/\.$/, '')}.`
const fillings = {
  noise: ({ size }) => Array.from({ length: size }, (_, i) => noiseLine(i)),
  essay: ({ size, essay }) => essay.slice(0, size),
}

/** Needles at depths of their own, in order. */
function bury(random, lines, needles) {
  const at = different(needles.length, () => Math.floor(random.uniform() * (lines.length + 1))).sort(
    (a, b) => a - b,
  )
  const parts = []
  let from = 0
  for (const [i, to] of at.entries()) {
    parts.push(...lines.slice(from, to), needles[i])
    from = to
  }
  return [...parts, ...lines.slice(from)]
}

const kinds = { numbers: ['number', numbers], uuids: ['uuid', uuids] }

/**
 * Needles in a haystack. Of `keyCount` keys, `asked` are asked for; each has `values` values. Filling with needles
 * makes all lines keys with a value.
 */
function needles({ name, filling, value, keyCount = 1, values = 1, asked = 1, uuidKeys = false }) {
  const [what, draw] = kinds[value]
  const line = (key, answer) => `One of the special magic ${what}s for ${key} is: ${answer}.`
  const make = ({ random, size, essay }) => {
    const count = filling === 'needles' ? size : keyCount
    const names = (uuidKeys ? uuids : keys)(random, count)
    const all = draw(random, count * values)
    const valuesOf = (i) => all.slice(i * values, (i + 1) * values)
    const order = shuffle(
      random,
      names.map((_, i) => i),
    ).slice(0, asked)
    const statements = shuffle(
      random,
      names.flatMap((key, i) => valuesOf(i).map((answer) => line(key, answer))),
    )
    const lines =
      filling === 'needles' ? statements : bury(random, fillings[filling]({ size, essay }), statements)
    const wanted = order.map((i) => names[i])
    const list = wanted.length === 1 ? wanted[0] : `${wanted.slice(0, -1).join(', ')}, and ${wanted.at(-1)}`
    const one = asked * values === 1
    return {
      intro: `${one ? 'A special magic' : 'Some special magic'} ${what}${one ? ' is' : 's are'} hidden within the following text. Make sure to memorize ${one ? 'it' : 'them'}. I will quiz you about the ${what}${one ? '' : 's'} afterwards.`,
      document: lines.join(filling === 'essay' ? ' ' : '\n'),
      question: one
        ? `What is the special magic ${what} for ${list} mentioned in the provided text?`
        : `What are all the special magic ${what}s for ${list} mentioned in the provided text?`,
      prefix: one
        ? `The special magic ${what} for ${list} mentioned in the provided text is`
        : `The special magic ${what}s for ${list} mentioned in the provided text are`,
      answers: order.flatMap(valuesOf),
    }
  }
  return {
    name,
    predict: value === 'uuids' ? 64 : 24 * asked * values,
    least: Math.max(keyCount * values, asked),
    make,
  }
}

/** Five variables, of which the first has the value and each other one that of the one before. */
function chain(names, value) {
  return names.map((name, i) => (i === 0 ? `VAR ${name} = ${value}` : `VAR ${name} = VAR ${names[i - 1]}`))
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('')
const variableNames = (random, count) =>
  different(count, () => Array.from({ length: 5 }, () => random.pick(letters)).join(''))
const fiveDigits = (random) => String(10_000 + Math.floor(random.uniform() * 90_000))

const tracking = {
  name: 'vt',
  predict: 40,
  least: 10,
  make({ random, size }) {
    const question = (value) => `Find all variables that are assigned the value ${value} in the text above.`
    const prefix = (value) =>
      `According to the chain(s) of variable assignment in the text above, 5 variables are assigned the value ${value}, they are:`
    const text = (n, names, value) =>
      bury(random, fillings.noise({ size: n }), chain(names, value)).join('\n')
    const [shown, names] = [variableNames(random, 5), variableNames(random, 5)]
    const [shownValue, value] = [fiveDigits(random), fiveDigits(random)]
    const intro = 'Memorize and track the chain(s) of variable assignment hidden in the following text.'
    return {
      intro: `${intro}\n\n${text(10, shown, shownValue)}\nQuestion: ${question(shownValue)} Answer: ${prefix(shownValue)} ${shown.join(' ')}\n\n${intro}`,
      document: text(size, names, value),
      question: `Question: ${question(value)}`,
      prefix: prefix(value),
      answers: names,
    }
  },
}

/** Ten words thirty times, the others three times; in the example three times and once. */
const commonWords = {
  name: 'cwe',
  predict: 60,
  least: 12,
  make({ random, size }) {
    const all = shuffle(random, [
      ...adjectives,
      ...nouns,
      ...adjectives.flatMap((a) => nouns.map((n) => `${a}${n}`)),
    ])
    const list = (common, rare, often, seldom) =>
      shuffle(random, [
        ...common.flatMap((word) => Array(often).fill(word)),
        ...rare.flatMap((word) => Array(seldom).fill(word)),
      ])
        .map((word, i) => `${i + 1}. ${word}`)
        .join(' ')
    const intro =
      'Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that appear most often.'
    const question = 'Question: What are the 10 most common words in the above list?'
    const prefix = 'Answer: The top 10 words that appear most often in the list are:'
    const [shown, common] = [all.slice(0, 10), all.slice(10, 20)]
    return {
      intro: `${intro}\n${list(shown, all.slice(20, 40), 10, 3)}\n${question} ${prefix} ${shown.map((word, i) => `${i + 1}. ${word}`).join(' ')}\n\n${intro}`,
      document: list(common, all.slice(40, 40 + size), 30, 3),
      question,
      prefix,
      answers: common,
    }
  },
}

/** Made-up words whose frequencies follow a zeta distribution with exponent 2: the three most frequent. */
const frequentWords = {
  name: 'fwe',
  predict: 50,
  least: 30,
  make({ random, size }) {
    const words = different(Math.max(8, Math.ceil(size / 20)), () =>
      Array.from({ length: 6 }, () => random.pick(letters).toLowerCase()).join(''),
    )
    const shares = words.map((_, i) => (i + 1) ** -2)
    const total = shares.reduce((sum, share) => sum + share, 0)
    const counts = shares.map((share) => Math.max(1, Math.round((share / total) * size)))
    const stream = shuffle(
      random,
      words.flatMap((word, i) => Array(counts[i]).fill(word)),
    )
    return {
      intro:
        'Read the following coded text and track the frequency of each coded word. Find the three most frequently appeared coded words.',
      document: stream.flatMap((word, i) => (i % 5 === 4 ? [word, '...'] : [word])).join(' '),
      question:
        'Question: Do not provide any explanation. Please ignore the dots "....". What are the three most frequently appeared words in the above coded text?',
      prefix: 'Answer: According to the coded text above, the three most frequently appeared words are:',
      answers: words.slice(0, 3),
    }
  },
}

/**
 * Questions over passages. RULER takes SQuAD and HotpotQA, which no package carries; these passages are made up, so
 * that nothing is known beforehand.
 */
const passages = {
  name: 'qa',
  predict: 16,
  least: 4,
  make({ random, size }) {
    const people = different(size, () => person(random))
    const facts = people.map((person) => ({
      person,
      born: random.pick(towns),
      trade: random.pick(trades),
      year: 1700 + Math.floor(random.uniform() * 200),
    }))
    const asked = facts[Math.floor(random.uniform() * size)]
    return {
      intro:
        'Answer the question based on the given documents. Only give me the answer and do not output any other words.\n\nThe following are given documents.\n',
      document: facts
        .map(
          ({ person, born, trade, year }, i) =>
            `Document ${i + 1}:\n${person} was born in the town of ${born} in ${year}. After some years at sea ${person.split(' ')[0]} settled down and worked as a ${trade} until old age.`,
        )
        .join('\n\n'),
      question: `Question: In which town was ${asked.person} born?`,
      prefix: 'Answer: The town of',
      answers: [asked.born],
    }
  },
}

/** @type {Task[]} */
export const tasks = [
  needles({ name: 'niah-single-1', filling: 'noise', value: 'numbers' }),
  needles({ name: 'niah-single-2', filling: 'essay', value: 'numbers' }),
  needles({ name: 'niah-single-3', filling: 'essay', value: 'uuids' }),
  needles({ name: 'niah-multikey-1', filling: 'essay', value: 'numbers', keyCount: 4 }),
  needles({ name: 'niah-multikey-2', filling: 'needles', value: 'numbers' }),
  needles({ name: 'niah-multikey-3', filling: 'needles', value: 'uuids', uuidKeys: true }),
  needles({ name: 'niah-multivalue', filling: 'essay', value: 'numbers', values: 4 }),
  needles({ name: 'niah-multiquery', filling: 'essay', value: 'numbers', keyCount: 4, asked: 4 }),
  tracking,
  commonWords,
  frequentWords,
  passages,
]
