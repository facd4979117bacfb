// A result as Markdown.

import { Mean, mean } from '../../dist/cli/statistics.js'
import { wilson } from '../quality/interval.mjs'
import { ascending, unique } from '../quality/look-up.mjs'
import { list, table } from '../quality/markdown.mjs'
import { ABLE, sum } from './measure.mjs'

const WHERE = {
  inside: 'questions and answers stand inside of the prompt',
  'end-alone': 'the same questions, each at the end of its prompt',
  'turn-alone': 'the same questions, each in a call of its own behind its prompt',
  end: 'the question ends the prompt',
  turn: 'the question is a turn of its own, behind the text',
  before: 'the question stands before the text, and again behind it',
}

/** Of these there are many: those that dense answers count. */
const MANY = new Set(['inside', 'end-alone', 'turn-alone'])

const TIMES = '## Time of a prefill\n\nSeconds to the first token, median over the items above.'

const LOGS =
  '## How likely answers are\n\nMean log-probability of all answers above, found or not, less that of dense, with its standard error: a bias shows here before answers are lost.'

const DIVERGENCES =
  '## Divergence at answers\n\nKL divergence from dense of the tokens of all answers above, found or not: mean over answers with its standard error, in nats a token. It tells settings apart that lose the same answers; what rounding alone has is that of dense by other products.'

const PREDICTIONS =
  '## Predictions\n\nMeans over windows of perplexity relative to dense, with their standard error; KL divergence of the prompt; the share of likeliest tokens that are the same.'

export function markdown(result) {
  const { machine, build, model, description, books, seed, threads, items, inside, alone } = result
  return [
    `# Quality on ${model.name}, ${result.date}`,
    '[docs/quality.md](../../docs/quality.md) says what is measured, and how.',
    list([
      `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}; ${threads} threads`,
      `h2o-llama ${machine.h2o_llama}, commit ${build.commit}${build.uncommitted_changes ? ' with uncommitted changes' : ''}; llama.cpp ${build.upstream}`,
      `model: ${model.file} (${description}), SHA-256 ${model.sha256}`,
      ...books.map((book) => `text: ${book.name}, ${book.package}, ${book.licence}, SHA-256 ${book.sha256}`),
      `items per task and length: ${items}; prompts with questions inside: ${inside}, of each ${alone} asked alone; seed ${seed}`,
    ]),
    `## Tasks\n\nAnswers found of those asked for, with Wilson's 95 % interval in per cent; then how many that dense finds were lost, and how many were won that it does not find. Tasks of which dense finds less than ${100 * ABLE} % are not scored where a question stands alone.`,
    ...Object.keys(WHERE).flatMap((place) => taskTables(result, place)),
    ...(result.rows.some(({ logs }) => logs) ? [LOGS, answerTable(result, difference)] : []),
    ...(result.rows.some(({ kl }) => kl) ? [DIVERGENCES, answerTable(result, divergence)] : []),
    ...(result.rows.some(({ place }) => place === 'end') ? [TIMES, timeTable(result)] : []),
    ...(result.predictions.length === 0 ? [] : [PREDICTIONS, predictionTable(result)]),
  ]
    .join('\n\n')
    .concat('\n')
}

const columns = ({ settings }) => [{ key: 'dense', label: 'dense' }, ...settings]

function taskTables({ rows, ...result }, place) {
  const here = rows.filter((row) => row.place === place)
  return ascending(here.map(({ length }) => length)).map((length) => {
    const some = here.filter((row) => row.length === length)
    const used = columns(result).filter(({ key }) => some.some(({ setting }) => setting === key))
    const able = (task) => MANY.has(place) || share(some, task, 'dense') >= ABLE
    const names = unique(some.map(({ task }) => task))
    const scored = names.filter(able)
    const line = (task) => [task, ...used.map(({ key }) => cell(some, key, (row) => row.task === task))]
    const all = ['all scored', ...used.map(({ key }) => cell(some, key, (row) => able(row.task)))]
    const unable = names
      .filter((task) => !able(task))
      .map((task) => `${task} ${counts(some.filter((row) => row.task === task))}`)
    return [
      `### ${length} tokens: ${WHERE[place]}`,
      table(
        ['', ...used.map(({ label }) => label)],
        [...scored.map(line), ...(scored.length > 1 ? [all] : [])],
      ),
      ...(unable.length > 0 ? [`Not scored, dense: ${unable.join(', ')}.`] : []),
    ].join('\n\n')
  })
}

function share(rows, task, setting) {
  const own = rows.filter((row) => row.task === task && row.setting === setting)
  return sum(own, 'right') / sum(own, 'n')
}

/** Counts, and against dense: lost, won. */
function cell(rows, setting, isOf) {
  const of = (key) => rows.filter((row) => row.setting === key && isOf(row))
  if (setting === 'dense') return counts(of('dense'))
  const { lost, won } = lostAndWon(of('dense'), of(setting))
  return `${counts(of(setting))}, −${lost} +${won}`
}

/** What dense and another setting have of the same questions. */
const pairsOf = (dense, own, what) =>
  dense.flatMap((row) => {
    const other = own.find(({ task, index }) => row.task === task && row.index === index)
    return row[what].map((one, i) => [one, other[what][i]])
  })

function lostAndWon(dense, own) {
  const pairs = pairsOf(dense, own, 'answers')
  return {
    lost: pairs.filter(([dense, own]) => dense && !own).length,
    won: pairs.filter(([dense, own]) => !dense && own).length,
  }
}

function counts(rows) {
  if (rows.length === 0) return ''
  const [right, n] = [sum(rows, 'right'), sum(rows, 'n')]
  const { low, high } = wilson(right, n)
  return `${right}/${n} (${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)})`
}

/** A line for each place and length. @param what  of rows of dense, and of a setting */
function answerTable({ rows, ...result }, what) {
  const some = rows.filter(({ logs }) => logs)
  const others = columns(result).filter(({ key }) => key !== 'dense')
  const lines = unique(some.map(({ place, length }) => `${place}, ${length}`)).map((line) => {
    const of = (key) => some.filter((row) => `${row.place}, ${row.length}` === line && row.setting === key)
    return [line, ...others.map(({ key }) => (of(key).length > 0 ? what(of('dense'), of(key)) : ''))]
  })
  return table(['', ...others.map(({ label }) => label)], lines)
}

function difference(dense, own) {
  const all = new Mean()
  for (const [of, other] of pairsOf(dense, own, 'logs')) all.add(other - of)
  const { value, uncertainty } = all.estimate
  return `${value.toFixed(4)} ± ${uncertainty.toFixed(4)}`
}

function divergence(_, own) {
  return plusMinus(own.flatMap(({ kl }) => kl))
}

function timeTable({ rows, ...result }) {
  const ends = rows.filter(({ place }) => place === 'end')
  return table(
    ['tokens', ...columns(result).map(({ label }) => label)],
    ascending(ends.map(({ length }) => length)).map((length) => [
      length,
      ...columns(result).map(({ key }) => {
        const seconds = ascending(
          ends.filter((row) => row.length === length && row.setting === key).map((row) => row.seconds),
        )
        return seconds.length === 0 ? '' : seconds[Math.floor(seconds.length / 2)].toFixed(2)
      }),
    ]),
  )
}

function predictionTable({ predictions, settings }) {
  const lengths = ascending(predictions.map(({ length }) => length))
  const measured = unique(predictions.map(({ kind }) => kind)).flatMap((kind) =>
    lengths.map((length) => ({ kind, length })),
  )
  const rows = measured.flatMap(({ kind, length }) =>
    settings.flatMap(({ key, label }) => {
      const own = predictions.filter((row) => row.kind === kind && row.length === length && row.key === key)
      if (own.length === 0) return []
      const of = (part, name) => own.map((row) => row[part][name])
      return [
        [
          `${kind}, ${length}, ${label}`,
          own.length,
          plusMinus(of('prompt', 'ratio')),
          mean(of('prompt', 'kld')).toFixed(5),
          `${mean(of('prompt', 'same_top_percent')).toFixed(1)} %`,
          plusMinus(of('continuation', 'ratio')),
        ],
      ]
    }),
  )
  return table(['text, tokens, setting', 'windows', 'prompt', 'KL', 'same likeliest', 'continuation'], rows)
}

function plusMinus(values) {
  const middle = mean(values)
  if (values.length === 1) return middle.toFixed(4)
  const variance = values.reduce((total, value) => total + (value - middle) ** 2, 0) / (values.length - 1)
  return `${middle.toFixed(4)} ± ${Math.sqrt(variance / values.length).toFixed(4)}`
}
