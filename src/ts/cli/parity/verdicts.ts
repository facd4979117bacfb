// What parity asks for, and whether it holds.
import type { Row } from '../compare/outcome.js'
import type { Figures } from '../compare/tally.js'
import type { ParityFlags } from './options.js'

/** Another machine's rounding, and the 16 bits of a file. */
const FILE_OFF_KLD = 0.001

/** What --json prints of a tolerance. Its names are permanent. */
export interface Verdict {
  /** the flag that sets it */
  name: string
  mode: 'off' | 'h2o'
  limit: number
  /** null where nothing was measured */
  value: number | null
  ok: boolean
  /** in words, for a person */
  message: string
}

type Limits = Pick<ParityFlags, 'maxOffKld' | 'maxKld' | 'maxPplRatio' | 'minTop1'>

/** `exact`: the reference is stock itself, so with H2O off every bit is to be its own. */
export function judge(off: Row, h2o: Row | undefined, exact: boolean, limits: Limits): Verdict[] {
  return [judgeOff(off, exact, limits.maxOffKld), ...(h2o ? judgeOn(h2o, limits) : [])]
}

function judgeOff({ prompt }: Row, exact: boolean, given: number | undefined): Verdict {
  const name = '--max-off-kld'
  const kld = prompt?.kld.mean.value ?? null
  if (exact && given === undefined) {
    const ok = prompt !== null && prompt.identical === prompt.n
    const message = `H2O off: ${prompt?.identical} of ${prompt?.n} tokens have stock's logits to the bit`
    return { name, mode: 'off', limit: 0, value: kld, ok, message }
  }
  const limit = given ?? FILE_OFF_KLD
  const ok = kld !== null && kld <= limit
  return {
    name,
    mode: 'off',
    limit,
    value: kld,
    ok,
    message: worded('H2O off: mean KL divergence', kld, 'at most', limit),
  }
}

function judgeOn(row: Row, { maxKld, maxPplRatio, minTop1 }: Limits): Verdict[] {
  const verdict = (
    name: string,
    what: string,
    limit: number | undefined,
    bound: 'at most' | 'at least',
    of: (figures: Figures) => number,
  ): Verdict[] => {
    if (limit === undefined) return []
    const value = row.prompt ? of(row.prompt) : null
    if (row.path !== 'h2o') {
      const message = `H2O on: no call was sparse (${row.reason}), so there is nothing to judge`
      return [{ name, mode: 'h2o', limit, value, ok: false, message }]
    }
    const ok = value !== null && (bound === 'at most' ? value <= limit : value >= limit)
    return [{ name, mode: 'h2o', limit, value, ok, message: worded(`H2O on: ${what}`, value, bound, limit) }]
  }
  return [
    ...verdict('--max-kld', 'mean KL divergence', maxKld, 'at most', ({ kld }) => kld.mean.value),
    ...verdict(
      '--max-ppl-ratio',
      'perplexity ratio',
      maxPplRatio,
      'at most',
      ({ ppl_ratio }) => ppl_ratio.value,
    ),
    ...verdict(
      '--min-top1',
      'same likeliest token, in per cent,',
      minTop1,
      'at least',
      ({ same_top_percent }) => same_top_percent.value,
    ),
  ]
}

function worded(what: string, value: number | null, bound: string, limit: number): string {
  return `${what} is ${value?.toPrecision(6) ?? 'unknown'}, ${bound} ${limit} is asked for`
}
