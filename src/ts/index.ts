export type {
  AnswerReading,
  AssistantMessage,
  Chat,
  ChatAnswer,
  ChatAsyncOptions,
  ChatMessage,
  ChatOptions,
  MessageDelta,
  ToolCall,
  ToolChoice,
} from './chat.js'
export { Context, createContext } from './context.js'
export type { LogitsMode } from './context-handle.js'
export type { Device } from './devices.js'
export { listDevices } from './devices.js'
export { Document } from './document.js'
export type { SpecType } from './drafting.js'
export type { H2oErrorCode, H2oErrorOptions } from './errors.js'
export { H2oError } from './errors.js'
export type { AskOptions, GenerateOptions } from './generate.js'
export type { JsonSchema } from './grammar.js'
export type { LogLevel } from './log.js'
export { setLogLevel } from './log.js'
export type { LogitBias } from './logit-bias.js'
export type { DetokenizeOptions, TokenizeAsyncOptions, TokenizeOptions } from './model.js'
export { loadModel, Model } from './model.js'
export type {
  KvOverride,
  LoadMode,
  LoraOptions,
  ModelOptions,
  SplitMode,
  TensorOverride,
} from './model-options.js'
export type { ContextOptions, FlashAttn, H2oOptions, KvType } from './options.js'
export type { Place } from './places.js'
export type { Selection } from './policies.js'
export type { PrefillOptions, Prompt } from './prefill.js'
export { planPrefill } from './prefill-plan.js'
export type { RopeOptions } from './rope.js'
export type { SamplerName } from './samplers.js'
export type { SamplingOptions } from './sampling.js'
export type { DecodeOptions, ReadOptions, SequenceTraits } from './sequence.js'
export { Sequence } from './sequence.js'
export type {
  Call,
  ContextH2o,
  ContextMemory,
  DecodeKeys,
  DecodeResult,
  GeneratedToken,
  GenerateSummary,
  GenerateTimings,
  Generation,
  H2oTraceEntry,
  LayerKind,
  LoadedState,
  Path,
  PrefillCost,
  PrefillProgress,
  PrefillResult,
  PrefillTimings,
  Reason,
  Schedule,
  TokenLogprob,
} from './types.js'
export type { H2oWarning, H2oWarningCode } from './warnings.js'
