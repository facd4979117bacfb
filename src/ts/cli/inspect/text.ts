// The report on stdout: a caption and one line per layer.
import { basename } from 'node:path'
import { count } from '../shell/format.js'
import type { Report } from './report.js'
import { tableOf } from './table.js'

export function renderText(report: Report): string {
  const table = tableOf(report)
  const widths = (table[0] ?? []).map((_, i) => Math.max(...table.map((row) => row[i]?.length ?? 0)))
  const lines = table.map((row) => row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  '))
  return `${[...caption(report), '', ...lines].join('\n')}\n`
}

export function caption(report: Report): string[] {
  const { model, description, nPrompt, chunks, nUbatch, schedule, select, local, heavy, layers } = report
  const tail =
    report.denseTail > 0 ? `; the last ${count(report.denseTail, 'token')} were dense and do not count` : ''
  return [
    `${basename(model)} (${description})`,
    `${count(nPrompt, 'token')}, ${schedule}, ${select}, ${count(chunks.length, 'chunk')} of ${nUbatch}, L=${local} H=${heavy}; ` +
      `${count(layers.length, 'layer')} of ${count(layers[0]?.heads.length ?? 0, 'head')}${tail}`,
    `shares of dense attention, as means over the heads and the ${count(chunks.length - 1, 'chunk')} with a memory`,
  ]
}
