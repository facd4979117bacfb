// What a sparse prefill should gain over a dense one, from what both have to compute: what doctor predicts, the summary
// of a run and the server's timings. docs/models.md says how good a prediction that is.
import { native } from './native/binding.js'
import { resolvedH2o } from './options.js'
import { policyOf, type Selection } from './policies.js'
import type { Call, ContextH2o, PrefillResult } from './types.js'

const CHUNK = 1024

type Predicted = Pick<ContextH2o, 'covered' | 'cost' | 'select' | 'heavy' | 'heavyGrows'>

/** What is predicted: the chunk of the README, and the defaults there, with the model's own H. */
export function predictedSettings({ select, heavy }: Pick<Predicted, 'select' | 'heavy'>) {
  const defaults = resolvedH2o({ select }, CHUNK)
  return { chunk: CHUNK, local: defaults.local, heavy: policyOf(select).hasMemory ? defaults.heavy : heavy }
}

/** What a floating-point operation of attention costs, as one of a product with weights. */
export interface AttentionCost {
  /** llama.cpp's attention over all positions. */
  dense: number
  /** The kernels of a sparse prefill, with the search for what they read. */
  own: number
}

/** Measured on an H200: docs/gpu.md. Most of what 'query' takes there is its search. */
export const onGpu = {
  query: { dense: 1.3, own: 11.5 },
  votes: { dense: 1.3, own: 2.9 },
} as const satisfies Record<Selection, AttentionCost>

/** Measured: docs/models.md. Faster products with weights make attention the larger share. */
const onCpu = {
  /** llama.cpp's own products. */
  upstream: { dense: 4, own: 4 },
  /** Our products in 8-bit integers without AVX-512; what is not x64 counts as this. */
  avx2: { dense: 7, own: 5 },
  /** AVX-512 with VNNI. */
  avx512: { dense: 11, own: 6 },
  amx: { dense: 12.5, own: 4.5 },
} as const satisfies Record<string, AttentionCost>

/** @param features llama.cpp's line: "CPU : AVX2 = 1 | ..." */
export function attentionCosts(features: string, upstreamProducts = false): AttentionCost {
  if (upstreamProducts) return onCpu.upstream
  const has = (feature: string) => features.includes(` ${feature} = 1`)
  return has('AMX_INT8') ? onCpu.amx : has('AVX512_VNNI') ? onCpu.avx512 : onCpu.avx2
}

export const LENGTHS = [8192, 32768, 131072] as const

export interface Gain {
  tokens: number
  /** Dense time over sparse time. */
  times: number
}

/** Empty if the context is not covered. */
export function predictGains(h2o: Predicted, attention: AttentionCost): Gain[] {
  if (!h2o.covered) return []
  const as = { ...h2o, ...predictedSettings(h2o) }
  return LENGTHS.map((tokens) => {
    const whole = [{ pos: 0, n: tokens, path: 'h2o' }] as const
    return { tokens, times: gainOf(whole, as, attention) }
  })
}

/**
 * Dense time over the time of a prompt that was read on a CPU. undefined where there is nothing to predict it from: a
 * dense prompt, the two passes of two-pass, or recurrent layers, of which the model knows the products with weights alone.
 */
export function predictGainOf(
  { path, schedule, calls }: Pick<PrefillResult, 'path' | 'schedule' | 'calls'>,
  h2o: ContextH2o,
  attention: AttentionCost,
): number | undefined {
  if (path !== 'h2o' || schedule !== 'single-pass' || h2o.layers.includes('recurrent')) return undefined
  return gainOf(calls, h2o, attention)
}

type Settings = Pick<ContextH2o, 'cost' | 'chunk' | 'local' | 'heavy' | 'heavyGrows'>

function gainOf(
  calls: readonly Pick<Call, 'pos' | 'n' | 'path'>[],
  h2o: Settings,
  attention: AttentionCost,
): number {
  let [dense, own] = [0, 0]
  for (const { pos, n, path } of calls) {
    const before = pos + n / 2 // on average
    const all = n * timeOf(h2o, attention, attention.dense * before)
    dense += all
    own += path === 'dense' ? all : n * timeOf(h2o, attention, attention.own * keysOf(h2o, pos, n))
  }
  return dense / own
}

/** That a token of a sparse call reads on average: half of its own chunk, and the memory in all chunks but the first. */
function keysOf({ chunk, local, heavy, heavyGrows }: Settings, pos: number, n: number): number {
  const before = pos + n / 2
  const most = native().heavyAmong(heavy, heavyGrows, Math.max(0, before - local))
  const set = Math.max(heavy, most / 3) // grown sets of texts have room left
  return chunk / 2 + Math.min(local + set, before) * (pos === 0 ? 1 - chunk / n : 1)
}

/** Of one token, in operations of a product with weights. Windows are llama.cpp's on both paths. */
function timeOf({ cost, chunk }: Settings, { dense }: AttentionCost, costOfKeys: number): number {
  const { linear, pair, windowPair, window } = cost
  return linear + pair * costOfKeys + dense * windowPair * (window + chunk)
}
