/** What calls report: plain data, no behaviour. */

import type { Selection } from './policies.js'

/** How a decode call read the cache: H2O chunked sparse attention, or attention over all of it. */
export type Path = 'h2o' | 'dense'

export const schedules = ['single-pass', 'two-pass'] as const

/**
 * In which order a sparse call does its work: both phases in one pass over the network, or a pass for the intra
 * attention of all chunks and then one chunk by chunk (src/native/h2o/README.md, "Schedules").
 */
export type Schedule = (typeof schedules)[number]

/** Keys that a query head chooses of the cache for a decoded token; 0 is all of them. */
export type DecodeKeys = number | 'auto'

/** Of sparse decoding: more than any context has positions for. */
export const maxDecodeKeys = 2 ** 30

/** Why a call, or a whole context, is dense, or a dense call reads all keys. A closed list; the names are permanent (src/native/h2o/h2o.h). */
export type Reason =
  | 'off'
  | 'one-chunk'
  | 'batch-too-small'
  | 'unsupported-architecture'
  | 'unsupported-memory'
  | 'unsupported-attention'
  | 'unsupported-context'
  | 'unsupported-device'
  | 'unsupported-schedule'
  | 'multi-sequence'
  | 'embedding-input'
  | 'non-causal'
  | 'positions-not-consecutive'
  | 'kv-not-contiguous'
  | 'few-positions'
  | 'many-tokens'

/** One native decode call. */
export interface Call {
  /** Tokens in it. */
  n: number
  /** Position of the first. */
  pos: number
  path: Path
  /** null iff the path is 'h2o'. */
  reason: Reason | null
  /** Room of the memory set that it inherited from earlier calls. */
  inherited: number
  /** Chunks of nUbatch tokens, a partial tail included; 0 if dense. */
  chunks: number
  /** Dense by the exact kernel of H2O, and not by llama.cpp's attention: on the CPU. */
  exact: boolean
  /** Sparse decoding: keys that each query head chose of the cache; 0 if all of them were read. */
  decode: number
  /** Why it read all of them; null if it chose. */
  decodeReason: Reason | null
}

export interface PrefillProgress {
  /** Tokens read; within a call an estimate, where the backend allows one. */
  done: number
  /** Tokens to read, without those that are reused. */
  total: number
  /** The call that has just ended; null while one is running. */
  call: Call | null
}

export interface PrefillTimings {
  promptMs: number
  promptPerSecond: number
}

export interface PrefillResult {
  /** Tokens of the prompt that were read, without those that were reused (`cached`). */
  tokens: number
  /** Tokens that were in the context before, and stayed. */
  cached: number
  /** Where the prompt ended. `from` takes the whole result to come back here. */
  position: number
  /** 'h2o' if any call was. */
  path: Path
  /** null if the path is 'h2o', else the reason of the first call. */
  reason: Reason | null
  schedule: Schedule
  chunks: number
  /** Tokens of the dense calls at the end, after sparse ones. */
  denseTail: number
  calls: Call[]
  /** nVocab values for 'last', tokens * nVocab for 'all' (row by row), null for 'none'. */
  logits: Float32Array | null
  timings: PrefillTimings
}

/** What became of a saved state. */
export interface LoadedState {
  /** Tokens in the context now. */
  position: number
  /** Whether the method goes on where it was: all that it remembers was taken over with the cache. */
  inherited: boolean
  /**
   * Why it does not, or null. 'none': the state has no memory set, as no sparse call had been made. 'off': this context
   * is not served. Otherwise the first setting that is another one here; 'other' is one that has no name of its own.
   */
  reason: null | 'none' | 'off' | 'local' | 'heavy' | 'chunk' | 'schedule' | 'selection' | 'other'
}

export interface DecodeResult {
  call: Call
  /** As in PrefillResult. */
  logits: Float32Array | null
  ms: number
}

export interface GeneratedToken {
  token: number
  /** Whole characters only: '' while the bytes of one are incomplete. */
  text: string
  /** With `logprobs`: its bytes, as in TokenLogprob. */
  bytes?: Uint8Array
  /** With `logprobs`: the natural logarithm of its probability, as the model has it, before all samplers. */
  logprob?: number
  /** With `logprobs`: the most likely tokens, the likeliest first, whether or not this one is among them. */
  topLogprobs?: TokenLogprob[]
}

export interface TokenLogprob {
  token: number
  /** Its bytes: possibly a part of a UTF-8 character, and none for a special token. */
  bytes: Uint8Array
  /** The same as text, with U+FFFD for what is no character by itself. */
  text: string
  logprob: number
}

/** The names of llama-server, in camelCase. */
export interface GenerateTimings {
  cacheN: number
  promptN: number
  promptMs: number
  promptPerTokenMs: number
  promptPerSecond: number
  predictedN: number
  /** Of the tokens behind the first one, which the prompt gave; the rates count all of them, as llama-server's do. */
  predictedMs: number
  predictedPerTokenMs: number
  predictedPerSecond: number
  /** Tokens that were drafted (GenerateOptions.specType), and those of them that the sampler drew, too. */
  draftN: number
  draftNAccepted: number
  /** Whether all tokens behind the first one were decoded by the exact kernel of H2O (`Call.exact`). */
  predictedExact: boolean
  /** Tokens behind the first one by sparse decoding (`Call.decode`). */
  predictedSparse: number
  /** Why the first of those that read all keys did (`Call.decodeReason`); null if there is none. */
  predictedDenseReason: Reason | null
  /** From the first next() to its token, tokenizing and waiting for the context included. */
  ttftMs: number
}

/** An answer, token by token: `for await`, or all at once by result(). */
export interface Generation extends AsyncGenerator<GeneratedToken, GenerateSummary, void> {
  /**
   * Takes the tokens that are left, and gives the summary; behind `for await`, the one that it dropped. Throws what
   * next() throws, and ERR_H2O_INTERRUPTED where the loop was left before its end.
   */
  result(): Promise<GenerateSummary>
}

export interface GenerateSummary {
  prefill: PrefillResult
  text: string
  /** Tokens generated, the one that ended the generation not counted. */
  predicted: number
  /**
   * 'eos': the model ended it; 'stop': a stop string; 'length': nPredict; 'context': the context is full; 'grammar':
   * the grammar is at its end, and the token that would say so is not wanted (ignoreEos, logitBias).
   */
  stop: 'eos' | 'stop' | 'length' | 'context' | 'grammar'
  /** Which string, where `stop` is 'stop'. */
  stopString: string | null
  /** What sampling used; random unless it was given. */
  seed: number
  timings: GenerateTimings
}

/** One layer of one chunk of the last sparse call. Arrays hold one row per head. */
export interface H2oTraceEntry {
  layer: number
  /** The chunk begins here. */
  pos: number
  nChunk: number
  /** Heads with memory sets of their own: query heads with 'query', KV heads with 'votes'. */
  nHeads: number
  /** The last positions before the chunk that it attended to besides its memory sets; 0 with 'votes'. */
  nNear: number
  /** Memory sets of the chunk: 1, or with 'query' one for each block of 64 like queries; 0 if none. */
  nSets: number
  /** What the blocks are cut from, [nHeads][nChunk]: which query of the chunk is at each place; empty without blocks. */
  order: Int32Array
  /** Positions in a memory set that the chunk attended to, per head: at most so many with 'query'. */
  nMem: number
  /** Set after set, ascending. A set of fewer positions ends with its last one again and again. */
  memPos: Int32Array
  /** Scores after this chunk's votes; empty with 'query'. */
  memScore: Float32Array
  /** Initial scores of the chunk's own positions; empty with 'query'. */
  chunkScore: Float32Array
  /**
   * With trace 'mass': what each of the positions [0, pos + nChunk) gets of the full causal softmax of the chunk's
   * queries, summed over the queries and the query heads that share the sets; where there are several sets, set by set
   * over the queries that it is for, which `order` names.
   */
  mass?: Float32Array
}

export interface ContextH2o {
  /** Whether calls of this context can be sparse. */
  covered: boolean
  /** Why they cannot; null if covered. */
  reason: Reason | null
  schedule: Schedule
  select: Selection
  /** S, L and H as they are used, after clamping. With 'query' a set has H positions at most. */
  chunk: number
  local: number
  heavy: number
  /** Whether H grows with the prompt: of C positions beyond H to min(C - 1, 4096 + C/16), if that is more. */
  heavyGrows: boolean
  /** Tokens at the end of every prompt that are prefilled densely. */
  denseTail: number
  /** Query heads to a KV head, in the layer with most. */
  group: number
  /** Sparse decoding: keys that each query head chooses for a decoded token, unless a call says; 0 is all. */
  decode: DecodeKeys
  /** Why no call can decode sparsely; null if one can. 'off': it was not asked for. */
  decodeReason: Reason | null
  /** How each layer attends in a sparse call. */
  layers: LayerKind[]
  cost: PrefillCost
}

/**
 * sparse: to what H2O chooses. dense: to all positions, in a context that is not covered. window: to the last
 * positions, as always. recurrent: it keeps a state instead of K and V. none: it has no attention.
 */
export type LayerKind = 'sparse' | 'dense' | 'window' | 'recurrent' | 'none'

/** Floating-point operations of a prefill, as the sparse graph shows them; all 0 in a context that is not covered. */
export interface PrefillCost {
  /** Of the products with weights, per token. */
  linear: number
  /** Of attention in all sparse layers, per query and key that it reads. */
  pair: number
  /** The same in layers with a window, and the positions that these see at most. */
  windowPair: number
  window: number
}

export interface ContextMemory {
  h2oStateBytes: number
  /** The index of keys and values that 'query' keeps, and that of sparse decoding; 0 with neither. */
  h2oIndexBytes: number
  /** The cached intra attention of one call; 0 unless the schedule is two-pass. */
  h2oIntraBytes: number
  kvBytes: number
  /** All compute buffers, of whatever graph needs most. */
  computeBytes: number
  /** What the largest sparse graph needs of them, and its nodes; 0 if not covered. */
  sparseComputeBytes: number
  sparseGraphNodes: number
}
