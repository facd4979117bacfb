// Walks contexts over the same tokens, in step with what they are held against, call by call, so that no more than one
// call's logits of two are held.
import { setImmediate } from 'node:timers/promises'
import type { Context } from '../../index.js'
import { planPrefill } from '../../prefill-plan.js'
import type { Layout } from './layout.js'
import type { Outcome } from './outcome.js'
import type { Reference, ReferenceRows } from './reference.js'

export type Walker = Pick<Context, 'nBatch' | 'nUbatch' | 'decode' | 'clear'>

export interface Contender {
  context: Walker
  outcome: Outcome
}

export interface WalkOptions {
  /** tokens at the end of a prompt that go in dense calls: 0 */
  denseTail?: number
  signal: AbortSignal
  /** so many tokens of the window are done */
  onCall(done: number): void
}

/** A window: its tokens go through the reference and all contexts, which begin anew. */
export async function walk(
  window: number,
  tokens: Int32Array,
  layout: Layout,
  reference: Reference,
  contenders: readonly Contender[],
  { denseTail = 0, signal, onCall }: WalkOptions,
): Promise<void> {
  const contexts = contenders.map(({ context }) => context)
  await reference.begin(window, tokens, signal)
  for (const context of contexts) await context.clear()
  for (const { pos, n } of callsOf(layout, contexts, denseTail)) {
    const part = tokens.subarray(pos, pos + n)
    const counts = pos + n > layout.first
    const rows = await reference.call({ pos, n, tokens: part, counts, signal })
    for (const { context, outcome } of contenders) {
      const { call, logits } = await context.decode(part, { logits: counts ? 'all' : 'none', signal })
      outcome.addCall(call)
      if (rows && logits) await compareRows({ tokens, layout, pos, n }, rows, logits, outcome, signal)
    }
    onCall(pos + n)
  }
}

/**
 * The prompt as prefill() would cut it, then the continuation in calls of a chunk, which are dense by definition.
 * Nothing follows the last token, so it is not decoded.
 */
export function callsOf(
  layout: Layout,
  contexts: readonly Pick<Walker, 'nBatch' | 'nUbatch'>[],
  denseTail = 0,
): Part[] {
  const nBatch = Math.min(...contexts.map((context) => context.nBatch))
  const nUbatch = Math.min(...contexts.map((context) => context.nUbatch))
  const { nPrompt, nContinuation } = layout
  const sizes = planPrefill(nPrompt, nBatch, nUbatch, true, denseTail)
  for (let rest = nContinuation - 1; rest > 0; rest -= nUbatch) sizes.push(Math.min(rest, nUbatch))
  let pos = 0
  return sizes.map((n) => {
    pos += n
    return { pos: pos - n, n }
  })
}

interface Part {
  pos: number
  n: number
}

/** A large vocabulary takes a while: Ctrl-C is heard in between. */
const PAUSE_MS = 50

async function compareRows(
  { tokens, layout, pos, n }: Part & { tokens: Int32Array; layout: Layout },
  rows: ReferenceRows,
  logits: Float32Array,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const nVocab = logits.length / n
  const end = Math.min(pos + n, layout.nWindow - 1)
  let paused = performance.now()
  for (let at = Math.max(pos, layout.first); at < end; at++) {
    const target = tokens[at + 1] as number
    outcome.add(at, rows.deviation(at, logits, (at - pos) * nVocab, nVocab, target))
    if (performance.now() - paused < PAUSE_MS) continue
    await setImmediate()
    signal.throwIfAborted()
    paused = performance.now()
  }
}
