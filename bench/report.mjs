// A result as Markdown: the machine, the targets, the tables.

import { formatters } from '../dist/cli/bench/formats.js'
import { targetsOf, verdictOf } from './targets.mjs'

/** @param {object} result what run.mjs writes  @param {string} plotFile beside the report */
export function markdown(result, plotFile) {
  const { machine, build } = result
  return [
    `# ${result.set}, ${result.date}`,
    `${result.title}.`,
    `![seconds to the first token over prompt length](${plotFile})`,
    list([
      `${machine.cpu}, ${machine.cores} cores, ${(machine.memory_bytes / 2 ** 30).toFixed(0)} GiB, ${machine.system}, Node ${machine.node}`,
      `load when it began: ${result.load.toFixed(2)}`,
      `h2o-llama ${machine.h2o_llama}, commit ${build.commit}${build.uncommitted_changes ? ' with uncommitted changes' : ''}; llama.cpp ${build.upstream}`,
      `ours: ${compiled(build.ours)}`,
      `stock: ${compiled(build.stock)}`,
      'random weights: these figures are of speed and memory, and say nothing of quality',
    ]),
    targetTable(targetsOf(result.runs)),
    ...result.runs.map(runTable),
  ]
    .join('\n\n')
    .concat('\n')
}

function runTable({ title, argv, heading, rows }) {
  const table = formatters.md()
  return `## ${title}\n\n\`h2o-prefill bench ${argv}\`\n\n${table.begin(heading)}${table.group(rows)}`.trimEnd()
}

function targetTable(targets) {
  const lines = targets.map((target) => {
    const { what, value, least, most, aim, note } = target
    const limit = least !== undefined ? `>= ${least}` : `<= ${most}`
    const cells = [
      what,
      value === null ? '' : value.toFixed(value < 0.1 ? 3 : 2),
      limit,
      aim ?? '',
      verdictOf(target),
      note ?? '',
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [
    '## Targets',
    '',
    '| what | value | limit | aim | | |',
    '| --- | ---: | ---: | ---: | --- | --- |',
    ...lines,
  ].join('\n')
}

function compiled(build) {
  if (!build) return 'not built here'
  const { compiler, flags, native, openmp, cuda } = build
  return [compiler, flags, native && '-march=native', openmp && 'OpenMP', cuda && 'CUDA']
    .filter(Boolean)
    .join(', ')
}

function list(lines) {
  return lines.map((line) => `- ${line}`).join('\n')
}
