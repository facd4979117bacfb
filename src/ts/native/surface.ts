/** The surface of h2o_llama.node (src/native/addon), declared once. Nothing outside src/ts sees it. */

import type { Policy, Selection } from '../policies.js'
import type { RopeOptions } from '../rope.js'
import type { H2oTraceEntry } from '../types.js'

export interface NativeModelOptions {
  path: string
  nGpuLayers?: number
  loadMode: string
  devices?: string[]
  splitMode: string
  mainGpu: number
  tensorSplit: number[]
  rpc: string[]
  overrideTensors: NativeTensorPlace[]
  loras: { path: string; scale: number }[]
  overrideKv: NativeOverride[]
}

export interface NativeTensorPlace {
  pattern: string
  buffer: string
}

export interface NativeOverride {
  key: string
  type: 'int' | 'float' | 'bool' | 'str'
  value: number | boolean | string
}

export interface NativeModelInfo {
  description: string
  architecture: string
  nParams: number
  sizeBytes: number
  nCtxTrain: number
  nVocab: number
  nLayer: number
  nEmbd: number
  bosToken: number | null
  eosToken: number | null
  chatTemplate: string | null
  addBos: boolean
  /** Devices that layers can go to. */
  nDevices: number
}

export interface NativeModel {
  open(options: NativeModelOptions): Promise<NativeModelInfo>
  abort(): void
  progress(): number
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Int32Array
  /** The same on a thread of its own. */
  startTokenize(text: string, addSpecial: boolean, parseSpecial: boolean): NativeWork<Int32Array>
  renderChat(request: NativeChatRequest): NativeRendering
  startChat(request: NativeChatRequest): NativeWork<NativeRendering>
  detokenize(tokens: Int32Array, removeSpecial: boolean, unparseSpecial: boolean): string
  isEog(token: number): boolean
  dispose(): Promise<void>
}

export interface NativeWork<T> {
  result: Promise<T>
  abort(): void
}

/** What a NativeChat is made of; opaque. */
export type NativeRendering = object & { readonly rendering: never }

/** Checked; of texts '' is none. What is a list or an object is JSON. */
export interface NativeChatRequest {
  template: string
  messages: string
  tools: string
  toolChoice: string
  /** Without it, as the template can. */
  parallelToolCalls?: number
  grammar: string
  jsonSchema: string
  reasoningFormat: string
  addGenerationPrompt: boolean
  /** Its last message is the assistant's and holds a text. */
  continueFinalMessage: boolean
  variables: string
}

export interface NativeChat {
  /** UTF-8 */
  text(): Buffer
  stops(): string[]
  shown(): Int32Array
}

export interface NativeAnswer {
  read(text: string, isPartial: boolean): NativeReading
  readAsync(text: string, isPartial: boolean): Promise<NativeReading>
}

/** JSON, both. */
export interface NativeReading {
  message: string
  deltas: string
}

/** Every number is an unsigned integer; `memoryLimit` is in bytes, 0 where unknown. */
export interface NativeContextOptions {
  nCtx: number
  nBatch: number
  nUbatch: number
  /** Sequences, with nCtx tokens each. */
  nSeq: number
  /** With nCtx tokens together. */
  kvUnified: boolean
  nThreads: number
  nThreadsBatch: number
  flashAttn: string
  typeK: string
  typeV: string
  swaFull: boolean
  kvOffload: boolean
  rope: RopeOptions
  h2o: NativeH2oOptions
  upstreamProducts: boolean
  embeddings: boolean
  memoryLimit: number
}

/** What is undefined is the engine's default, which depends on the policy. */
export interface NativeH2oOptions {
  local: number | undefined
  heavy: number | undefined
  denseTail: number | undefined
  /** 2 ** 32 - 1 is 'auto'. */
  decode: number
  select: string | undefined
  twoPass: boolean
  /** one of traceLevels */
  trace: number
}

export interface NativeH2oUse {
  local: number
  heavy: number
  denseTail: number
  /** Less than was asked for. */
  lowered: boolean
}

export interface NativeContextInfo {
  nCtx: number
  nBatch: number
  nUbatch: number
  /** The most tokens that one decode call takes. */
  nCallMax: number
  reason: string | null
  /** Some layers have a state that cannot go back. */
  recurrent: boolean
  schedule: string
  select: Selection
  chunk: number
  local: number
  heavy: number
  heavyGrows: boolean
  group: number
  decode: number
  decodeReason: string | null
  stateBytes: number
  indexBytes: number
  intraBytes: number
  kvBytes: number
  computeBytes: number
  sparseBytes: number
  sparseNodes: number
  /** Attention of some layer runs on a GPU. */
  onGpu: boolean
  linearFlops: number
  pairFlops: number
  windowPairFlops: number
  window: number
  /** By layer: sparse, dense, window, recurrent or none. */
  layers: string[]
}

/** SamplingOptions, all of them given and in bounds. */
export interface NativeSampling {
  temperature: number
  dynatempRange: number
  dynatempExponent: number
  topK: number
  topP: number
  minP: number
  typicalP: number
  topNSigma: number
  xtcProbability: number
  xtcThreshold: number
  repeatLastN: number
  repeatPenalty: number
  frequencyPenalty: number
  presencePenalty: number
  dryMultiplier: number
  dryBase: number
  dryAllowedLength: number
  dryPenaltyLastN: number
  drySequenceBreakers: readonly string[]
  adaptiveTarget: number
  adaptiveDecay: number
  mirostat: number
  mirostatTau: number
  mirostatEta: number
  samplers: readonly string[]
  biasTokens: Int32Array
  biasValues: Float32Array
  ignoreEos: boolean
  /** '' is none, of both. */
  grammar: string
  jsonSchema: string
  /** In place of both. */
  chat?: NativeChat
  /** -1: nothing is told. */
  logprobs: number
  seed: number
}

/** What a sparse call records (enum h2o_trace_level). */
export const traceLevels = { off: 0, sets: 1, mass: 2 } as const

/** Which tokens of a decode call have logits: none, the last one, all. */
export const outputs = { none: 0, last: 1, all: 2 } as const

/** Null where none was asked for, and where the grammar is at its end. */
export interface NativeDrawn {
  token: number | null
  /** Of the token and of the most likely ones; only with `logprobs`. */
  logprob?: number
  topTokens?: Int32Array
  topLogprobs?: Float32Array
}

export interface NativeCall extends NativeDrawn {
  /** Of these are kept: of a draft, what was accepted. */
  n: number
  pos: number
  path: string
  reason: string | null
  inherited: number
  chunks: number
  exact: boolean
  decode: number
  decodeReason: string | null
  position: number
  ms: number
  /** Tokens of the draft that was read behind the one that was given; only if there was one. */
  drafted?: number
  /** Drawn behind `token`, which the draft had, as this has all of these but the last. */
  more?: NativeDrawn[]
}

export interface NativeLoadedState {
  position: number
  inherited: boolean
  reason: string | null
  /** What save() was given. */
  note: Uint8Array
}

/** `sequence` is one of nSeq, from 0 on; an abort ends what is asked of it alone. */
export interface NativeContext {
  open(options: NativeContextOptions): Promise<NativeContextInfo>
  tokenize(sequence: number, text: string, addSpecial: boolean, parseSpecial: boolean): Promise<Int32Array>
  /**
   * `past`: the tokens before the first draw that penalties know of. `history`: all tokens before it, for drafts; null:
   * none are made.
   */
  startSampling(
    sequence: number,
    options: NativeSampling,
    past: Int32Array,
    history: Int32Array | null,
  ): Promise<void>
  /**
   * `keys`: those that a query head reads in sparse decoding, 0 is all. `expected`: tokens of the prompt that begins
   * here and comes in several calls, each sparse however short it is; 0 if this is no beginning of one. `draft`: tokens
   * that may be drafted behind a single one, if the sampling has a history.
   */
  decode(
    sequence: number,
    tokens: Int32Array,
    outputs: number,
    out: Float32Array | null,
    draw: boolean,
    keys: number,
    expected: number,
    draft: number,
  ): Promise<NativeCall>
  /**
   * One token of each of these sequences in one call, from whose logits their samplers draw. Aborts of a sequence do not
   * end it. What fails for one of them is in its place.
   */
  step(sequences: Int32Array, tokens: Int32Array): Promise<(NativeCall | { error: unknown })[]>
  /** Of the sequence's running call, 0 where it has none. */
  progress(sequence: number): number
  abort(sequence: number): void
  /** Forgets the positions from `from` to, but without, `to`; `to` < 0 means all that follow. */
  forget(sequence: number, from: number, to: number): Promise<number>
  /** The sequence becomes the first `n` tokens of `source`, in the same cells; only with kvUnified. */
  fork(sequence: number, source: number, n: number): Promise<number>
  /** Bytes that save() gives beside the note. */
  stateSize(sequence: number): Promise<number>
  save(sequence: number, note: Uint8Array): Promise<Uint8Array>
  /** The bytes must not change until it resolves. */
  restore(sequence: number, state: Uint8Array): Promise<NativeLoadedState>
  /** Of a special token nothing, unless `special`. */
  piece(token: number, special: boolean): Uint8Array
  isEog(token: number): boolean
  takeTrace(sequence: number): H2oTraceEntry[]
  dispose(): Promise<void>
}

export interface NativeDevice {
  name: string
  description: string
  type: 'cpu' | 'gpu' | 'igpu' | 'accel' | 'other'
  /** Bytes; 0 and 0 where the device does not say. */
  memoryFree: number
  memoryTotal: number
}

export interface NativeSystemInfo {
  /** llama.cpp's line: "CPU : AVX2 = 1 | ..." */
  features: string
  devices: NativeDevice[]
  policies: Policy[]
}

export interface NativeBinding {
  NativeModel: new () => NativeModel
  NativeContext: new (model: NativeModel) => NativeContext
  NativeChat: new (rendering: NativeRendering) => NativeChat
  NativeAnswer: new (chat: NativeChat) => NativeAnswer
  /** 1 debug, 2 info, 3 warn, 4 error, 5 nothing. */
  setLogLevel(level: number): void
  /** As a context with chunks of so many tokens uses them. */
  resolveH2o(options: NativeH2oOptions, chunk: number): NativeH2oUse
  /** Keys that sparse decoding by 'auto' chooses of so many, with so many query heads to a KV head; 0: all. */
  autoDecode(group: number, candidates: number): number
  /** How many of so many candidates a set holds at most whose H is `heavy`. */
  heavyAmong(heavy: number, heavyGrows: boolean, candidates: number): number
  systemInfo(): NativeSystemInfo
}
