// A result as Markdown: the machine, then tables of answers, perplexities, ablations and memory sets.

import { mean } from '../../dist/cli/statistics.js'
import { frontTable } from './front.mjs'
import { ascending, cellOf, perplexityOf, unique } from './look-up.mjs'
import { list, table } from './markdown.mjs'
import { ablations, keyOf } from './settings.mjs'
import { DEPTHS } from './tally.mjs'

/** Below this share of right answers a model does not do a task densely, and a sparse figure says little. */
const ABLE = 0.9

/** @param {object} result what run.mjs writes  @param {string} plotFile beside the report */
export function markdown(result, plotFile) {
  return [
    `# What H2O costs: ${result.set}, ${result.date}`,
    `${result.title}. [docs/quality.md](../../docs/quality.md) says what is measured, and how.`,
    `![plots of the tables below](${plotFile})`,
    facts(result),
    ...frontTable(result),
    ...answers(result),
    ...byPart(result),
    ...perplexities(result),
    ...ablationTables(result),
    ...denseTails(result),
    ...memory(result),
    ...byContext(result),
  ]
    .join('\n\n')
    .concat('\n')
}

function facts({ machine, build, model, description, text, seconds, total_seconds, threads, seed = 1, set }) {
  return list([
    `${machine.cpu}, ${machine.cores} cores, ${(machine.memory_bytes / 2 ** 30).toFixed(0)} GiB, ${machine.system}, Node ${machine.node}; ${threads} threads`,
    `h2o-llama ${machine.h2o_llama}, commit ${build.commit}${build.uncommitted_changes ? ' with uncommitted changes' : ''}; llama.cpp ${build.upstream}`,
    `model: ${model.file} (${description}), SHA-256 ${model.sha256}`,
    `text: ${text.tokens} tokens of prose from ${text.packages.join(', ')}; SHA-256 ${text.sha256}${text.skipped ? `; perplexities are of what follows its first ${text.skipped} tokens` : ''}`,
    `items of seed ${seed}`,
    `it took ${total_seconds} s: ${Object.entries(seconds)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')} (set \`${set}\`)`,
  ])
}

function answers({ tasks, settings }) {
  const lengths = ascending(tasks.map(({ length }) => length)).reverse()
  const note =
    'Right answers of all, every token of the answer greedy and right, with the 95 % interval in per cent. ' +
    `† dense is below ${100 * ABLE} %: what the model cannot do, H2O cannot lose.`
  const asked = { prompt: 'the question ends the prompt and is prefilled with it', behind: BEHIND }
  return [
    `## Answers\n\n${note}`,
    ...lengths.flatMap((length) =>
      (settings.length > 0 ? ['prompt', 'behind'] : ['behind']).map((ask) => {
        const names = unique(tasks.filter((cell) => cell.length === length).map(({ task }) => task))
        const rows = names
          .filter((task) => ask === 'prompt' || cellOf(tasks, 'dense', task, length, ask)?.ask !== 'inside')
          .map((task) => answerRow(tasks, settings, task, length, ask))
        return `### ${length} tokens: ${asked[ask]}\n\n${table(['task', 'dense', ...settings.map(({ label }) => label)], rows)}`
      }),
    ),
  ]
}

const BEHIND = 'the question is decoded densely behind the prompt'

function answerRow(tasks, settings, task, length, ask) {
  const dense = cellOf(tasks, 'dense', task, length, ask)
  const able = dense && dense.right / dense.n >= ABLE
  return [
    task,
    `${count(dense)}${able ? '' : ' †'}`,
    ...settings.map(({ key }) => count(cellOf(tasks, key, task, length, ask))),
  ]
}

function count(cell) {
  if (!cell) return ''
  const percent = (share) => (100 * share).toFixed(0)
  return `${cell.right}/${cell.n} (${percent(cell.low)}–${percent(cell.high)})`
}

/** By depth of the statement, and by chunks between statement and question. */
function byPart({ tasks, settings }) {
  const depths = ['passkey', 'needle'].filter((task) => tasks.some((cell) => cell.task === task))
  const inside = ascending(
    tasks.flatMap((cell) => (cell.ask === 'inside' ? cell.parts : [])).map((p) => p.where),
  )
  return [
    ...depths.map(
      (task) => `## ${task} by depth\n\n${partTable(tasks, settings, task, DEPTHS, (d) => `${100 * d} %`)}`,
    ),
    ...(inside.length > 0
      ? [
          `## records-inside by chunks back\n\n${partTable(tasks, settings, 'records-inside', inside, String)}`,
        ]
      : []),
  ]
}

function partTable(tasks, settings, task, parts, name) {
  const asks = { prompt: 'in the prompt', behind: 'behind', inside: 'inside' }
  const labels = new Map([['dense', 'dense'], ...settings.map(({ key, label }) => [key, label])])
  const rows = tasks
    .filter((cell) => cell.task === task)
    .sort((a, b) => b.length - a.length)
    .map((cell) => [
      `${cell.length}, ${labels.get(cell.setting)}`,
      asks[cell.ask],
      ...parts.map((where) => {
        const part = cell.parts.find((one) => one.where === where)
        return part ? `${part.right}/${part.n}` : ''
      }),
    ])
  return table(['', 'question', ...parts.map(name)], rows)
}

function perplexities({ perplexity, settings }) {
  if (!perplexity) return []
  const rows = ascending(perplexity.map(({ length }) => length))
    .reverse()
    .flatMap((length) =>
      settings.map(({ key, label }) => {
        const row = perplexityOf(perplexity, key, length)
        return [`${length}, ${label}`, ...predictionCells(row.prompt), ...predictionCells(row.continuation)]
      }),
    )
  const titles = ['dense', 'ratio', 'KL', 'KL p99', 'top-1']
  const head = [
    '',
    ...['prompt', 'continuation'].flatMap((part) => titles.map((title) => `${part}: ${title}`)),
  ]
  return [
    '## Predictions\n\nPerplexity of dense, the ratio to it, KL divergence from dense in nats, and how often both find the same token likeliest, as `h2o-prefill compare` gives them.\n\n' +
      table(head, rows),
  ]
}

function predictionCells({ ppl_dense, ratio, ratio_uncertainty, kld, kld_p99, same_top_percent }) {
  return [
    ppl_dense.toFixed(2),
    `${ratio.toFixed(4)} ± ${ratio_uncertainty.toFixed(4)}`,
    kld.toFixed(4),
    kld_p99.toFixed(3),
    `${same_top_percent.toFixed(1)} %`,
  ]
}

const OVER = { heavy: 'H, with L=256', local: 'L', S: 'the chunk S' }

function ablationTables({ ablation, perplexity }) {
  if (!ablation || ablation.length === 0 || !perplexity) return []
  return Object.entries(OVER).map(([over, title]) => {
    const lines = ablations.filter((line) => line.over === over)
    const rows = lines.flatMap(({ name, points }) =>
      points.map(({ x, setting }) => [
        `${name}, ${x}`,
        ...partialCells(ablation, perplexity, keyOf(setting)),
      ]),
    )
    return `## Over ${title}\n\n${partialTable(ablation, rows)}`
  })
}

function partialTable(ablation, rows) {
  const names = unique(ablation.map(({ task }) => task))
  const head = ['', 'prompt: ratio', 'KL', 'continuation: ratio', 'KL']
  const asked = names.flatMap((name) => [name, `${name}, behind`])
  const dense = ['dense', '', '', '', '', ...names.flatMap((task) => ['', denseCell(ablation, task)])]
  return table([...head, ...asked], [dense, ...rows])
}

function denseCell(ablation, task) {
  return count(ablation.find((cell) => cell.setting === 'dense' && cell.task === task))
}

function partialCells(ablation, perplexity, key) {
  const row = perplexity.findLast((one) => one.key === key)
  const names = unique(ablation.map(({ task }) => task))
  const { length } = ablation[0]
  return [
    ...[row.prompt, row.continuation].flatMap(({ ratio, kld }) => [ratio.toFixed(4), kld.toFixed(4)]),
    ...names.flatMap((task) =>
      ['prompt', 'behind'].map((ask) => count(cellOf(ablation, key, task, length, ask))),
    ),
  ]
}

function denseTails({ ablation, perplexity, settings, tails }) {
  if (!ablation || ablation.length === 0 || !perplexity) return []
  const rows = [settings[0], ...tails].map(({ key, label }) => [
    label,
    ...partialCells(ablation, perplexity, key),
  ])
  return [`## With a dense tail\n\n${partialTable(ablation, rows)}`]
}

function memory({ memory: sets }) {
  if (!sets) return []
  const { turnovers, repeated } = sets
  const layers = ascending(turnovers.map(({ layer }) => layer))
  const rows = ascending(turnovers.map(({ chunk }) => chunk)).map((chunk) => {
    const here = turnovers.filter((row) => row.chunk === chunk)
    const share = (value) => `${(100 * value).toFixed(1)} %`
    const all = mean(here.map(({ turnover }) => turnover))
    const layer = (l) => here.find((row) => row.layer === l)?.turnover
    return [String(chunk), ...layers.map((l) => share(layer(l))), share(all)]
  })
  return [
    '## Heavy hitters\n\nShare of the heavy positions of a chunk that were not in the memory set before, mean over its sets and the KV heads.\n\n' +
      table(['chunk', ...layers.map((layer) => `layer ${layer}`), 'all'], rows) +
      `\n\nThe same prompt twice: the least alike of ${repeated.sets} pairs of memory sets has a Jaccard index of ${repeated.least}.`,
  ]
}

function byContext({ byContext: found }) {
  if (!found) return []
  const { texts, alone, mixed } = found
  const cells = ({ n, ppl, uncertainty }) => [`${ppl.toFixed(3)} ± ${uncertainty.toFixed(3)}`, String(n)]
  const body = alone.map((row, i) => [String(row.length), ...cells(row), ...cells(mixed[i])])
  return [
    '## Perplexity against context\n\nDense; the same last 512 tokens of each window, with more and more before them. ' +
      `One text: windows inside of ${texts.join(', ')}. Texts in a row: windows of the text above, most of which begin in another file than they end in.\n\n` +
      table(['context', 'one text', 'tokens', 'texts in a row', 'tokens'], body),
  ]
}
