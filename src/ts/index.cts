/**
 * The library for CommonJS: `const { createContext } = require('h2o-llama')`.
 *
 * The library is an ES module, which CommonJS can only import asynchronously on every Node.js that we support. So:
 * - every function is here and returns a promise, planPrefill and setLogLevel too; the module is loaded at first use;
 * - H2oError, Model, Context, Sequence and Document are here for `instanceof` (objects of theirs come from the functions), and `new` refuses.
 */

import type * as library from './index.js' with { 'resolution-mode': 'import' }

type Library = typeof library
type Asynchronous<F extends (...args: never[]) => unknown> = (
  ...args: Parameters<F>
) => Promise<Awaited<ReturnType<F>>>

let loaded: Promise<Library> | undefined

function load(): Promise<Library> {
  loaded ??= import('./index.js')
  return loaded
}

const loadModel: Asynchronous<Library['loadModel']> = async (...args) => (await load()).loadModel(...args)

const createContext: Asynchronous<Library['createContext']> = async (...args) =>
  (await load()).createContext(...args)

const planPrefill: Asynchronous<Library['planPrefill']> = async (...args) =>
  (await load()).planPrefill(...args)

const setLogLevel: Asynchronous<Library['setLogLevel']> = async (...args) =>
  (await load()).setLogLevel(...args)

const listDevices: Asynchronous<Library['listDevices']> = async (...args) =>
  (await load()).listDevices(...args)

/** A class that only answers `instanceof`, by the mark that the real one puts on its objects (instanceof-mark.ts). */
function standIn<T>(name: string): T {
  const mark = Symbol.for(`h2o-llama.${name}`)
  const stand = {
    [name]: class {
      constructor() {
        throw new TypeError(`${name} cannot be made from CommonJS; import() h2o-llama for that`)
      }
      static [Symbol.hasInstance](value: unknown): boolean {
        return typeof value === 'object' && value !== null && mark in value
      }
    },
  }
  return stand[name] as T
}

const api = {
  loadModel,
  createContext,
  listDevices,
  planPrefill,
  setLogLevel,
  H2oError: standIn<Library['H2oError']>('H2oError'),
  Model: standIn<Library['Model']>('Model'),
  Context: standIn<Library['Context']>('Context'),
  Sequence: standIn<Library['Sequence']>('Sequence'),
  Document: standIn<Library['Document']>('Document'),
}

declare namespace api {
  export type AnswerReading = library.AnswerReading
  export type AskOptions = library.AskOptions
  export type AssistantMessage = library.AssistantMessage
  export type Call = library.Call
  export type Chat = library.Chat
  export type ChatAnswer = library.ChatAnswer
  export type ChatAsyncOptions = library.ChatAsyncOptions
  export type ChatMessage = library.ChatMessage
  export type ChatOptions = library.ChatOptions
  export type Context = library.Context
  export type ContextH2o = library.ContextH2o
  export type ContextMemory = library.ContextMemory
  export type ContextOptions = library.ContextOptions
  export type DecodeKeys = library.DecodeKeys
  export type DecodeOptions = library.DecodeOptions
  export type DecodeResult = library.DecodeResult
  export type DetokenizeOptions = library.DetokenizeOptions
  export type Device = library.Device
  export type Document = library.Document
  export type FlashAttn = library.FlashAttn
  export type GeneratedToken = library.GeneratedToken
  export type GenerateOptions = library.GenerateOptions
  export type GenerateSummary = library.GenerateSummary
  export type Generation = library.Generation
  export type GenerateTimings = library.GenerateTimings
  export type H2oError = library.H2oError
  export type H2oErrorCode = library.H2oErrorCode
  export type H2oErrorOptions = library.H2oErrorOptions
  export type H2oOptions = library.H2oOptions
  export type H2oTraceEntry = library.H2oTraceEntry
  export type H2oWarning = library.H2oWarning
  export type H2oWarningCode = library.H2oWarningCode
  export type JsonSchema = library.JsonSchema
  export type KvOverride = library.KvOverride
  export type KvType = library.KvType
  export type LayerKind = library.LayerKind
  export type LoadedState = library.LoadedState
  export type LoadMode = library.LoadMode
  export type LogitBias = library.LogitBias
  export type LogitsMode = library.LogitsMode
  export type LogLevel = library.LogLevel
  export type LoraOptions = library.LoraOptions
  export type MessageDelta = library.MessageDelta
  export type Model = library.Model
  export type ModelOptions = library.ModelOptions
  export type Path = library.Path
  export type Place = library.Place
  export type PrefillCost = library.PrefillCost
  export type PrefillOptions = library.PrefillOptions
  export type PrefillProgress = library.PrefillProgress
  export type PrefillResult = library.PrefillResult
  export type PrefillTimings = library.PrefillTimings
  export type Prompt = library.Prompt
  export type ReadOptions = library.ReadOptions
  export type Reason = library.Reason
  export type RopeOptions = library.RopeOptions
  export type SamplerName = library.SamplerName
  export type SamplingOptions = library.SamplingOptions
  export type Schedule = library.Schedule
  export type Selection = library.Selection
  export type Sequence = library.Sequence
  export type SequenceTraits = library.SequenceTraits
  export type SpecType = library.SpecType
  export type SplitMode = library.SplitMode
  export type TensorOverride = library.TensorOverride
  export type TokenizeAsyncOptions = library.TokenizeAsyncOptions
  export type TokenizeOptions = library.TokenizeOptions
  export type TokenLogprob = library.TokenLogprob
  export type ToolCall = library.ToolCall
  export type ToolChoice = library.ToolChoice
}

export = api
