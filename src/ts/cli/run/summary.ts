// The lines that end a run on stderr: which path the prompt took and why, and what came after.
import type { Context, GenerateSummary, GenerateTimings, PrefillResult } from '../../index.js'
import { explainReason } from '../reasons.js'
import { count, mebibytes, rate, seconds } from '../shell/format.js'

type Sizes = Pick<Context, 'nBatch' | 'nUbatch' | 'h2o'>

/**
 * `prefill: 12000 tokens, h2o (single-pass, votes, 12 chunks of 1024, L=256 H=256), 3 calls, 8.31 s, 1444 tok/s, about 3.6
 * times as soon as dense (predicted)`
 * @param gain dense time over this one, if there is a prediction
 */
export function prefillLine(result: PrefillResult, context: Sizes, gain?: number): string {
  const { promptMs, promptPerSecond } = result.timings
  return [
    `prefill: ${tokensOf(result)}`,
    pathOf(result, context),
    count(result.calls.length, 'call'),
    seconds(promptMs),
    rate(promptPerSecond),
    ...(gain === undefined ? [] : [`${sooner(gain)} (predicted)`]),
  ].join(', ')
}

/** What was read, and of how many if the context held the rest. */
function tokensOf({ tokens, cached }: PrefillResult): string {
  const all = count(tokens + cached, 'token')
  return cached === 0 ? all : `${tokens} of ${all} (${cached} from before)`
}

function sooner(gain: number): string {
  const times = gain.toFixed(1)
  return Number(times) > 1 ? `about ${times} times as soon as dense` : 'no sooner than dense'
}

function pathOf(result: PrefillResult, context: Sizes): string {
  if (result.path === 'dense') {
    return result.reason === null
      ? 'dense'
      : `dense (${result.reason}: ${explainReason(result.reason, context)})`
  }
  const { select, chunk, local, heavy } = context.h2o
  const tail = result.denseTail > 0 ? `, then ${count(result.denseTail, 'token')} dense` : ''
  return `h2o (${result.schedule}, ${select}, ${count(result.chunks, 'chunk')} of ${chunk}, L=${local} H=${heavy}${tail})`
}

const stops: Record<GenerateSummary['stop'], string> = {
  eos: 'the model ended',
  stop: 'a stop string',
  length: '-n reached',
  context: 'the context is full',
  grammar: 'the grammar is at its end',
}

/** Which keys were read, where that is worth a word. */
function keysOf({
  predictedExact,
  predictedSparse,
  predictedDenseReason: reason,
}: GenerateTimings): string[] {
  const why = reason === null || reason === 'off' ? '' : `, all keys: ${reason}`
  if (predictedSparse > 0) return [reason === null ? 'sparse' : `${predictedSparse} of them sparse${why}`]
  return predictedExact ? [`exact kernel${why}`] : why ? [why.slice(2)] : []
}

/** `decode: 16 tokens, exact kernel, 0.79 s, 20.1 tok/s, first token after 8.33 s (-n reached)` */
export function decodeLine(summary: GenerateSummary): string {
  const { predictedMs, predictedPerSecond, ttftMs } = summary.timings
  const { draftN, draftNAccepted } = summary.timings
  const parts = [`decode: ${count(summary.predicted, 'token')}`, ...keysOf(summary.timings)]
  if (draftN > 0) parts.push(`${draftNAccepted} of ${draftN} drafted`)
  parts.push(seconds(predictedMs))
  if (summary.predicted > 1) parts.push(rate(predictedPerSecond))
  if (summary.predicted > 0) parts.push(`first token after ${seconds(ttftMs)}`)
  return `${parts.join(', ')} (${stops[summary.stop]})`
}

/** What -v says about the sizes of a context: bytes and nodes, exact, and bytes in MiB. */
export function memoryLines({ memory, nCtx, h2o }: Pick<Context, 'memory' | 'nCtx' | 'h2o'>): string[] {
  const { h2oIntraBytes, kvBytes, computeBytes, sparseComputeBytes, sparseGraphNodes } = memory
  const h2oBytes = memory.h2oStateBytes + memory.h2oIndexBytes
  const share = kvBytes > 0 ? ((100 * h2oBytes) / kvBytes).toFixed(2) : '0.00'
  return [
    `memory: kv cache ${kvBytes} bytes (${mebibytes(kvBytes)}) for ${nCtx} tokens`,
    `memory: persistent h2o buffers ${h2oBytes} bytes (${mebibytes(h2oBytes)}, ${share} % of the kv cache)`,
    ...(h2oIntraBytes > 0
      ? [`memory: h2o intra cache ${h2oIntraBytes} bytes (${mebibytes(h2oIntraBytes)})`]
      : []),
    `memory: compute buffers ${computeBytes} bytes (${mebibytes(computeBytes)})`,
    ...(h2o.covered
      ? [
          `memory: of which a sparse call needs ${sparseComputeBytes} bytes (${mebibytes(sparseComputeBytes)})`,
        ]
      : []),
    h2o.covered
      ? `graph: ${sparseGraphNodes} nodes for a sparse call, chunk ${h2o.chunk}, L=${h2o.local} H=${h2o.heavy}`
      : `graph: no sparse call in this context (${h2o.reason})`,
  ]
}
