// The part of the API that `run` uses, without a model: one token per byte, and the text that it is told to generate.
import type {
  Call,
  Context,
  ContextOptions,
  GenerateOptions,
  GenerateSummary,
  Model,
  ModelOptions,
  PrefillResult,
} from '../../../src/ts/index.js'

export interface FakeLog {
  model?: ModelOptions
  context?: ContextOptions
  generate?: GenerateOptions
  tokens: number[]
  disposed: string[]
  logLevel?: string
}

export interface FakeScript {
  pieces?: string[]
  calls?: Call[]
  warnings?: { code: string; message: string }[]
  /** runs before each piece */
  beforePiece?: (i: number) => void
  loadError?: unknown
  gpus?: number
}

export const sparseCall: Call = {
  n: 12,
  pos: 0,
  path: 'h2o',
  reason: null,
  inherited: 0,
  chunks: 3,
  exact: false,
  decode: 0,
  decodeReason: null,
}
export const denseCall: Call = {
  n: 3,
  pos: 0,
  path: 'dense',
  reason: 'one-chunk',
  inherited: 0,
  chunks: 0,
  exact: true,
  decode: 0,
  decodeReason: null,
}

export const h2oInfo: Context['h2o'] = {
  covered: true,
  reason: null,
  schedule: 'single-pass',
  select: 'votes',
  chunk: 4,
  local: 2,
  heavy: 1,
  heavyGrows: false,
  group: 1,
  denseTail: 0,
  decode: 0,
  decodeReason: null,
  layers: ['sparse', 'sparse'],
  cost: { linear: 1, pair: 1, windowPair: 0, window: 0 },
}

export function prefillResult(calls: Call[] = [sparseCall]): PrefillResult {
  const sparse = calls.some((call) => call.path === 'h2o')
  return {
    tokens: calls.reduce((sum, call) => sum + call.n, 0),
    cached: 0,
    position: calls.reduce((sum, call) => sum + call.n, 0),
    path: sparse ? 'h2o' : 'dense',
    reason: sparse ? null : (calls[0]?.reason ?? null),
    schedule: 'single-pass',
    chunks: calls.reduce((sum, call) => sum + call.chunks, 0),
    denseTail: 0,
    calls,
    logits: null,
    timings: { promptMs: 8.5, promptPerSecond: 1411.7647 },
  }
}

export function generateSummary(prefill: PrefillResult, pieces: string[]): GenerateSummary {
  return {
    prefill,
    text: pieces.join(''),
    predicted: pieces.length,
    stop: 'length',
    stopString: null,
    seed: 1,
    timings: {
      cacheN: 0,
      promptN: prefill.tokens,
      promptMs: prefill.timings.promptMs,
      promptPerSecond: prefill.timings.promptPerSecond,
      promptPerTokenMs: 1,
      predictedN: pieces.length,
      predictedMs: 20,
      predictedPerTokenMs: 20,
      ttftMs: 9.75,
      predictedPerSecond: pieces.length * 50,
      draftN: 0,
      draftNAccepted: 0,
      predictedExact: false,
      predictedSparse: 0,
      predictedDenseReason: null,
    },
  }
}

export function fakeApi(script: FakeScript = {}) {
  const { pieces = ['he', 'llo'], calls = [sparseCall], warnings = [] } = script
  const log: FakeLog = { tokens: [], disposed: [] }

  const model = {
    nCtxTrain: 1000,
    tokenizeAsync: async (text: string) => Int32Array.from(Buffer.from(text)),
    dispose: async () => void log.disposed.push('model'),
  } as unknown as Model

  const context = {
    nCtx: 100,
    nBatch: 12,
    nUbatch: 4,
    h2o: h2oInfo,
    memory: {
      h2oStateBytes: 10,
      h2oIndexBytes: 0,
      h2oIntraBytes: 0,
      kvBytes: 1000,
      computeBytes: 5_000_000,
      sparseComputeBytes: 3_000_000,
      sparseGraphNodes: 77,
    },
    async *generate(tokens: ArrayLike<number>, options: GenerateOptions) {
      log.tokens = Array.from(tokens)
      log.generate = options
      const prefill = prefillResult(calls)
      let done = 0
      for (const call of calls) {
        done += call.n
        options.onProgress?.({ done, total: prefill.tokens, call })
      }
      for (const [i, text] of pieces.entries()) {
        script.beforePiece?.(i)
        options.signal?.throwIfAborted()
        yield { token: i, text }
      }
      return generateSummary(prefill, pieces)
    },
    dispose: async () => void log.disposed.push('context'),
  } as unknown as Context

  const api = {
    async loadModel(options: string | ModelOptions) {
      if (script.loadError) throw script.loadError
      log.model = options as ModelOptions
      return model
    },
    async createContext(options: ContextOptions) {
      log.context = options
      for (const warning of warnings) options.onWarning?.(warning as never)
      return context
    },
    listDevices: () => Array.from({ length: script.gpus ?? 0 }),
    setLogLevel: (level: string) => {
      log.logLevel = level
    },
  }
  return { api: async () => api as never, log }
}
