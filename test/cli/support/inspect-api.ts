// The part of the API that `inspect` uses, without a model: one token per byte, two layers of two heads, and memory
// sets that the test chooses. Every position gets the same dense mass unless it says otherwise.
import {
  type Call,
  type Context,
  type ContextOptions,
  type H2oTraceEntry,
  type PrefillOptions,
  type PrefillResult,
  planPrefill,
  type Reason,
} from '../../../src/ts/index.js'

export const N_LAYER = 2
export const N_HEADS = 2

export interface Place {
  run: number
  layer: number
  head: number
  pos: number
}

export interface InspectScript {
  /** Heavy of a chunk, below pos - L: the first H positions unless given */
  heavy?(place: Place): number[]
  /** dense mass of a position: 1 unless given */
  mass?(place: Place, position: number): number
  contextReason?: Reason
  /** calls are dense for this reason */
  callReason?: Reason
  /** runs before each call */
  beforeCall?(): void
}

export function inspectApi(script: InspectScript = {}) {
  const log = { contexts: [] as ContextOptions[], calls: [] as { run: number; n: number }[], open: 0 }

  const model = {
    nCtxTrain: 4096,
    description: 'fake <model>',
    tokenizeAsync: async (text: string) => Int32Array.from(Buffer.from(text)),
    dispose: async () => void log.open--,
  }

  const createContext = async (options: ContextOptions) => {
    const { nBatch = 0, nUbatch = 0, h2o } = options
    const { local = 2, heavy = 1, select = 'votes', trace } = h2o || {}
    const run = log.contexts.push(options) - 1
    log.open++
    let taken: H2oTraceEntry[] = []
    const context = {
      nBatch,
      nUbatch,
      h2o: { schedule: 'single-pass', select, local, heavy, reason: script.contextReason ?? null },
      takeTrace: () => taken.splice(0),
      prefill: async (tokens: Int32Array, { onProgress, signal }: PrefillOptions = {}) => {
        const calls: Call[] = []
        let pos = 0
        for (const n of planPrefill(tokens.length, nBatch, nUbatch, true)) {
          script.beforeCall?.()
          signal?.throwIfAborted()
          log.calls.push({ run, n })
          const reason = script.callReason ?? (n <= nUbatch ? 'one-chunk' : null)
          const chunks = reason ? 0 : Math.ceil(n / nUbatch)
          const call = { n, pos, path: reason ? 'dense' : 'h2o', reason, inherited: 0, chunks } as Call
          calls.push(call)
          if (!reason) taken = traceOf(run, pos, n)
          pos += n
          onProgress?.({ done: pos, total: tokens.length, call })
        }
        const sparse = calls.some(({ path }) => path === 'h2o')
        return {
          tokens: tokens.length,
          path: sparse ? 'h2o' : 'dense',
          reason: sparse ? null : (calls[0]?.reason ?? null),
          denseTail: calls.at(-1)?.path === 'dense' ? (calls.at(-1)?.n ?? 0) : 0,
          calls,
        } as PrefillResult
      },
      dispose: async () => void log.open--,
    }

    const traceOf = (run: number, base: number, n: number): H2oTraceEntry[] =>
      Array.from({ length: N_LAYER }, (_, layer) => layer).flatMap((layer) =>
        Array.from({ length: Math.ceil(n / nUbatch) }, (_, i) => {
          const pos = base + i * nUbatch
          const nChunk = Math.min(nUbatch, base + n - pos)
          const heads = Array.from({ length: N_HEADS }, (_, head) => ({ run, layer, head, pos }))
          const sets = heads.map((place) => {
            if (pos === 0) return []
            const chosen = script.heavy?.(place) ?? Array.from({ length: heavy }, (_, j) => j)
            const near = Array.from({ length: local }, (_, j) => pos - local + j)
            return select === 'votes' ? [...chosen, ...near] : chosen
          })
          const nMem = sets[0]?.length ?? 0
          return {
            layer,
            pos,
            nChunk,
            nHeads: N_HEADS,
            nNear: select === 'votes' || pos === 0 ? 0 : local,
            nSets: nMem > 0 ? 1 : 0,
            order: new Int32Array(),
            nMem,
            memPos: Int32Array.from(sets.flat()),
            memScore: new Float32Array(select === 'votes' ? N_HEADS * nMem : 0).fill(2),
            chunkScore: new Float32Array(select === 'votes' ? N_HEADS * nChunk : 0).fill(1),
            ...(trace === 'mass' && {
              mass: Float32Array.from(
                heads.flatMap((place) =>
                  Array.from({ length: pos + nChunk }, (_, j) => script.mass?.(place, j) ?? 1),
                ),
              ),
            }),
          }
        }),
      )
    return context as unknown as Context
  }

  const api = {
    loadModel: async () => {
      log.open++
      return model
    },
    createContext,
    setLogLevel: () => {},
  }
  return { api: async () => api as never, log }
}
