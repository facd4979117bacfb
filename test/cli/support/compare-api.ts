// The part of the API that `compare` uses, without a model: one token per byte, and logits that follow from the text.
import {
  type Call,
  type Context,
  type ContextOptions,
  H2oError,
  type H2oOptions,
  type Reason,
} from '../../../src/ts/index.js'

/** Letters a to d; a text of them repeats this, so that the next token is known. */
export const CYCLE = 'abcd'
const N_VOCAB = 4

export interface CompareScript {
  /** what the cycle's next token gets in sparse prompt calls, in dense calls after those, and in dense contexts */
  sparse?: number
  after?: number
  dense?: number
  /** calls of more than a chunk are dense for this reason */
  reason?: Reason
  /** the context is not covered */
  contextReason?: Reason
  /** runs before each call */
  beforeCall?(): void
  kvBytes?: number
  nVocab?: number
  addBos?: boolean
}

export function compareApi(script: CompareScript = {}) {
  const log = {
    contexts: [] as ContextOptions[],
    /** tokens of each call, by context */
    calls: [] as { context: number; n: number; pos: number; logits: string; first: number }[],
    open: 0,
  }

  const model = {
    nCtxTrain: 4096,
    nVocab: script.nVocab ?? N_VOCAB,
    description: 'fake',
    addBos: script.addBos ?? false,
    bosToken: 3,
    tokenizeAsync: async (text: string) => Int32Array.from(text, (letter) => CYCLE.indexOf(letter)),
    dispose: async () => void log.open--,
  }

  const createContext = async (options: ContextOptions) => {
    const { nBatch = 0, nUbatch = 0, h2o } = options
    const budget: H2oOptions = h2o || { local: 0, heavy: 0 }
    const off = !budget.local && !budget.heavy
    const index = log.contexts.push(options) - 1
    log.open++
    let pos = 0
    let wasSparse = false
    const context = {
      nBatch,
      nUbatch,
      h2o: {
        schedule: 'single-pass',
        select: budget.select ?? 'votes',
        local: budget.local ?? 2,
        heavy: budget.heavy ?? 1,
        denseTail: h2o ? (h2o.denseTail ?? 0) : 0,
        reason: off ? 'off' : (script.contextReason ?? null),
      },
      memory: { kvBytes: script.kvBytes ?? 0, computeBytes: 0 },
      clear: async () => {
        pos = 0
        wasSparse = false
      },
      decode: async (
        tokens: Int32Array,
        { logits = 'last', signal }: Parameters<Context['decode']>[1] = {},
      ) => {
        script.beforeCall?.()
        signal?.throwIfAborted()
        const reason = off ? 'off' : tokens.length <= nUbatch ? 'one-chunk' : (script.reason ?? null)
        const sparse = reason === null
        const share = sparse ? script.sparse : wasSparse ? script.after : script.dense
        wasSparse ||= sparse
        const n = tokens.length
        log.calls.push({ context: index, n, pos, logits, first: tokens[0] as number })
        const call: Call = {
          n,
          pos,
          path: sparse ? 'h2o' : 'dense',
          reason,
          inherited: 0,
          chunks: sparse ? 1 : 0,
          exact: false,
          decode: 0,
          decodeReason: null,
        }
        pos += n
        return { call, ms: 1, logits: logits === 'all' ? rows(tokens, share ?? 0.5) : null }
      },
      dispose: async () => void log.open--,
    }
    return context as unknown as Context
  }

  const api = {
    loadModel: async () => {
      log.open++
      return model
    },
    createContext,
    H2oError,
    setLogLevel: () => {},
  }
  return { api: async () => api as never, log }
}

/** The cycle's next token has `share`, the others the rest in equal parts. */
function rows(tokens: Int32Array, share: number): Float32Array {
  const logits = new Float32Array(tokens.length * N_VOCAB).fill(Math.log((1 - share) / (N_VOCAB - 1)))
  tokens.forEach((token, i) => {
    logits[i * N_VOCAB + ((token + 1) % N_VOCAB)] = Math.log(share)
  })
  return logits
}
