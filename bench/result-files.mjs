// The files of one result, which differ in their ending: the figures, and the report and the plot made of them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/** Where a dated result of a machine goes, without the ending. */
export function resultBase(folder, date, name, machine) {
  return join(folder, `${date}-${name}-${machineSlug(machine)}`)
}

function machineSlug({ cpu, cores }) {
  const name = cpu.replace(/\((R|TM)\)|CPU|Processor|@.*/gi, ' ').toLowerCase()
  return `${name.match(/[a-z0-9.]+/g)?.join('-') ?? 'cpu'}-${cores}-cores`
}

/**
 * @param {string} base
 * @param {{ svg: (result: object) => string, markdown: (result: object, plot: string) => string }} drawing
 */
export function writeResult(base, result, drawing) {
  mkdirSync(dirname(base), { recursive: true })
  writeFileSync(`${base}.json`, `${JSON.stringify(result)}\n`)
  draw(base, result, drawing)
}

/** The same without a plot. */
export function writeReport(base, result, markdown) {
  mkdirSync(dirname(base), { recursive: true })
  writeFileSync(`${base}.json`, `${JSON.stringify(result)}\n`)
  writeFileSync(`${base}.md`, markdown(result))
  console.error(`wrote ${relative(process.cwd(), base)}.{json,md}`)
}

/** The report and the plot of a result's JSON file again. */
export function redraw(file, drawing) {
  draw(file.replace(/\.json$/, ''), JSON.parse(readFileSync(file, 'utf8')), drawing)
}

function draw(base, result, { svg, markdown }) {
  writeFileSync(`${base}.svg`, svg(result))
  writeFileSync(`${base}.md`, markdown(result, `${basename(base)}.svg`))
  console.error(`wrote ${relative(process.cwd(), base)}.{json,md,svg}`)
}
