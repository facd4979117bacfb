// Limits on the figures, for scripts and CI.
import { describeRow } from './describe.js'
import type { CompareFlags } from './options.js'
import type { Row } from './outcome.js'
import type { Figures } from './tally.js'

type ThresholdFlags = Pick<CompareFlags, 'maxPplRatio' | 'maxContinuationPplRatio' | 'maxKld' | 'minTop1'>
type Part = 'prompt' | 'continuation'

interface Threshold {
  name: string
  limit: number | undefined
  parts: readonly Part[]
  what: string
  value(figures: Figures): number
  /** false for NaN */
  holds(value: number, limit: number): boolean
}

/** What --json prints of a threshold on a row. Its names are permanent. */
export interface Verdict {
  name: string
  limit: number
  /** index of the row */
  row: number
  part: Part
  /** null where nothing was measured */
  value: number | null
  ok: boolean
  /** the failure in words, for a person */
  message: string
}

const atMost = (value: number, limit: number) => value <= limit
const atLeast = (value: number, limit: number) => value >= limit
const both = ['prompt', 'continuation'] as const

// biome-ignore format: a table
const thresholdsOf = (flags: ThresholdFlags): readonly Threshold[] => [
  { name: '--max-ppl-ratio', limit: flags.maxPplRatio, parts: ['prompt'], what: 'the perplexity ratio',
    value: ({ ppl_ratio }) => ppl_ratio.value, holds: atMost },
  { name: '--max-continuation-ppl-ratio', limit: flags.maxContinuationPplRatio, parts: ['continuation'], what: 'the perplexity ratio',
    value: ({ ppl_ratio }) => ppl_ratio.value, holds: atMost },
  { name: '--max-kld', limit: flags.maxKld, parts: both, what: 'the mean KL divergence',
    value: ({ kld }) => kld.mean.value, holds: atMost },
  { name: '--min-top1', limit: flags.minTop1, parts: both, what: 'the share of the same likeliest token',
    value: ({ same_top_percent }) => same_top_percent.value, holds: atLeast },
]

/**
 * Every limit on every row. A row that was to be sparse and was not holds none of them: its figures say nothing about
 * the method. Without a continuation, limits on both parts are limits on the prompt.
 */
export function judge(rows: readonly Row[], flags: ThresholdFlags): Verdict[] {
  return thresholdsOf(flags).flatMap(({ name, limit, parts, what, value, holds }) => {
    if (limit === undefined) return []
    return rows.flatMap((row, index) =>
      parts
        .filter((part) => part === 'prompt' || row.continuation)
        .map((part) => {
          const figures = row[part]
          const measured = figures ? value(figures) : null
          const compared = row.path === 'h2o' || row.reason === 'off'
          const ok = compared && measured !== null && holds(measured, limit)
          const found = compared
            ? `${what} of the ${part} is ${measured?.toPrecision(6)}`
            : 'no call was sparse, so there is nothing to judge'
          const message = `${name} ${limit}: ${describeRow(row)}: ${found}`
          return { name, limit, row: index, part, value: measured, ok, message }
        }),
    )
  })
}
