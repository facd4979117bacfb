// What is compared: the unpatched llama.cpp as a program of its own, our addon in its ways to prefill, and the same
// patched llama.cpp without Node around it.
import type { FlashAttn, Schedule, Selection } from '../../index.js'

/**
 * What runs a contender, as a process of its own. stock: stock-bench, on the unpatched pin. addon: worker.ts in Node.
 * native: h2o-bench, the program of stock-bench on the patched tree.
 */
export type Program = 'stock' | 'addon' | 'native'

export interface Contender {
  /** permanent: results and scripts name it */
  name: string
  program: Program
  /** undefined: as -fa says */
  flashAttn?: FlashAttn
  /** false: dense */
  schedule: false | Schedule
  /** of a sparse one; results outlive what is chosen by default */
  select?: Selection
}

// biome-ignore format: a table
export const contenders: readonly Contender[] = [
  { name: 'stock-fa-on',  program: 'stock', schedule: false, flashAttn: 'on' },
  { name: 'stock-fa-off', program: 'stock', schedule: false, flashAttn: 'off' },
  { name: 'dense',        program: 'addon', schedule: false },
  { name: 'h2o',          program: 'addon', schedule: 'single-pass', select: 'votes' },
  { name: 'h2o-query',    program: 'addon', schedule: 'single-pass', select: 'query' },
  { name: 'h2o-two-pass', program: 'addon', schedule: 'two-pass', select: 'votes' },
  { name: 'h2o-native',   program: 'native', schedule: 'single-pass', select: 'votes' },
]

/** Only if they are named: they take their time, and answer questions of their own. */
export const onDemand: ReadonlySet<string> = new Set(['h2o-two-pass', 'h2o-native'])

export const defaultContenders = contenders.filter(({ name }) => !onDemand.has(name))

/** What --contenders takes: every name, and `stock` for both of stock's. */
export const contenderGroups: ReadonlyMap<string, readonly Contender[]> = new Map([
  ['stock', contenders.filter(({ program }) => program === 'stock')],
  ...contenders.map((contender) => [contender.name, [contender]] as [string, readonly Contender[]]),
])
