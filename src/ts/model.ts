/** A loaded GGUF model: weights and vocabulary, shared by any number of contexts. */

import { open, stat } from 'node:fs/promises'
import {
  applyChatTemplate,
  applyChatTemplateAsync,
  type Chat,
  type ChatAsyncOptions,
  type ChatMessage,
  type ChatOptions,
  chatAsyncOptionNames,
  chatOptionNames,
} from './chat.js'
import { callNative, disposedError, fromNative, H2oError, invalidArgument } from './errors.js'
import { markForInstanceof } from './instanceof-mark.js'
import { Listener } from './listener.js'
import { checkModelOptions, deviceWarnings, type ModelOptions } from './model-options.js'
import { abortable } from './native/abortable.js'
import { native } from './native/binding.js'
import type { NativeModel, NativeModelInfo } from './native/surface.js'
import { namesOf, readOptions } from './read-options.js'
import { boolean, optionalSignal, tokenIds } from './validate.js'
import { emitProcessWarning } from './warnings.js'

export interface TokenizeOptions {
  /** Add BOS and EOS where the model wants them: true */
  addSpecial?: boolean | undefined
  /** "<|im_start|>" in the text becomes its token: false */
  parseSpecial?: boolean | undefined
}

export interface TokenizeAsyncOptions extends TokenizeOptions {
  signal?: AbortSignal | undefined
}

export interface DetokenizeOptions {
  /** Leave out BOS and EOS that tokenize() added: false */
  removeSpecial?: boolean | undefined
  /** Write special tokens as text: false */
  unparseSpecial?: boolean | undefined
}

const tokenizeNames = { addSpecial: true, parseSpecial: true } as const
const tokenizeOptionNames = namesOf<TokenizeOptions>(tokenizeNames)
const tokenizeAsyncOptionNames = namesOf<TokenizeAsyncOptions>({ ...tokenizeNames, signal: true })
const detokenizeOptionNames = namesOf<DetokenizeOptions>({ removeSpecial: true, unparseSpecial: true })

/** For contexts only: the native side of a model that was not disposed. */
export const nativeModelOf = Symbol('nativeModelOf')

export class Model {
  static {
    markForInstanceof(Model.prototype, 'Model')
  }

  readonly path: string
  /** Architecture, parameters and type in words: "llama 135M Q4_1". */
  readonly description: string
  readonly architecture: string
  readonly nParams: number
  readonly sizeBytes: number
  /** Tokens that the model was trained on at once; 0 if it does not say. */
  readonly nCtxTrain: number
  readonly nVocab: number
  readonly nLayer: number
  readonly nEmbd: number
  readonly bosToken: number | null
  readonly eosToken: number | null
  /** Jinja, from the file; null if it has none. */
  readonly chatTemplate: string | null
  /** Whether tokenize() puts BOS before a text. */
  readonly addBos: boolean
  #native: NativeModel
  #disposal: Promise<void> | undefined

  /** Use loadModel(). */
  constructor(path: string, nativeModel: NativeModel, info: NativeModelInfo) {
    this.path = path
    this.description = describe(info)
    this.architecture = info.architecture
    this.nParams = info.nParams
    this.sizeBytes = info.sizeBytes
    this.nCtxTrain = info.nCtxTrain
    this.nVocab = info.nVocab
    this.nLayer = info.nLayer
    this.nEmbd = info.nEmbd
    this.bosToken = info.bosToken
    this.eosToken = info.eosToken
    this.chatTemplate = info.chatTemplate
    this.addBos = info.addBos
    this.#native = nativeModel
  }

  get disposed(): boolean {
    return this.#disposal !== undefined
  }

  /** On the calling thread: a megabyte takes a good part of a second. */
  tokenize(text: string, given?: TokenizeOptions): Int32Array {
    const options = readOptions('tokenize', given, tokenizeOptionNames)
    const args = tokenizeArguments(text, options)
    return callNative(() => this[nativeModelOf]().tokenize(...args))
  }

  /** Off the main thread; an abort ends it at once and rejects with the signal's reason. */
  async tokenizeAsync(text: string, given?: TokenizeAsyncOptions): Promise<Int32Array> {
    const { signal, ...options } = readOptions('tokenizeAsync', given, tokenizeAsyncOptionNames)
    optionalSignal(signal)
    const args = tokenizeArguments(text, options)
    const nativeModel = this[nativeModelOf]()
    return abortable(() => nativeModel.startTokenize(...args), signal)
  }

  /** The text of tokens; bytes that are no UTF-8 become U+FFFD. */
  detokenize(tokens: ArrayLike<number>, given?: DetokenizeOptions): string {
    const options = readOptions('detokenize', given, detokenizeOptionNames)
    const removeSpecial = boolean('removeSpecial', options.removeSpecial, false)
    const unparseSpecial = boolean('unparseSpecial', options.unparseSpecial, false)
    const ids = tokenIds(tokens, this.nVocab)
    return callNative(() => this[nativeModelOf]().detokenize(ids, removeSpecial, unparseSpecial))
  }

  /**
   * Messages in the model's template: the prompt, and what `generate` and the reading of its answer need. Throws
   * ERR_H2O_CHAT_TEMPLATE where there is no template, or it fails.
   */
  applyChatTemplate(messages: readonly ChatMessage[], given?: ChatOptions): Chat {
    return this.#applyChatTemplate('applyChatTemplate', messages, given)
  }

  /** Off the main thread, for messages and tools of strangers; an abort ends it, and rejects with the signal's reason. */
  async applyChatTemplateAsync(messages: readonly ChatMessage[], given?: ChatAsyncOptions): Promise<Chat> {
    const { signal, ...options } = readOptions('applyChatTemplateAsync', given, chatAsyncOptionNames)
    optionalSignal(signal)
    this.#checkTemplate(options)
    return applyChatTemplateAsync(this[nativeModelOf](), messages, options, signal)
  }

  /** The prompt of applyChatTemplate() alone. */
  formatChat(messages: readonly ChatMessage[], given?: ChatOptions): string {
    return this.#applyChatTemplate('formatChat', messages, given).prompt
  }

  #applyChatTemplate(what: string, messages: readonly ChatMessage[], given?: ChatOptions): Chat {
    const options = readOptions(what, given, chatOptionNames)
    this.#checkTemplate(options)
    return applyChatTemplate(this[nativeModelOf](), messages, options)
  }

  #checkTemplate(options: ChatOptions): void {
    if (this.chatTemplate === null && options.template === undefined) {
      throw new H2oError('ERR_H2O_CHAT_TEMPLATE', 'this model has no chat template')
    }
  }

  /** Whether a token ends a generation. */
  isEog(token: number): boolean {
    const [id] = tokenIds([token], this.nVocab)
    return callNative(() => this[nativeModelOf]().isEog(id as number))
  }

  /** Contexts go on working: the weights are freed when the last of them is disposed too. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#native.dispose()
    return this.#disposal
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  [nativeModelOf](): NativeModel {
    if (this.disposed) throw disposedError('model')
    return this.#native
  }
}

/** llama.cpp's description with the size that the tensors say: its own is a guess from the number of layers. */
function describe({ architecture, nParams, description }: NativeModelInfo): string {
  const type = description.split(' ').slice(2)
  const size = nParams < 1e9 ? `${roundTo(3, nParams / 1e6)}M` : `${roundTo(3, nParams / 1e9)}B`
  return [architecture, size, ...type].join(' ')
}

const roundTo = (digits: number, n: number) => Number(n.toPrecision(digits))

function tokenizeArguments(text: string, options: TokenizeOptions): [string, boolean, boolean] {
  if (typeof text !== 'string') throw invalidArgument('tokenize takes a text', { text: typeof text })
  return [
    text,
    boolean('addSpecial', options.addSpecial, true),
    boolean('parseSpecial', options.parseSpecial, false),
  ]
}

/**
 * Loads a GGUF file, off the main thread. Throws ERR_H2O_MODEL_NOT_FOUND, ERR_H2O_MODEL_INVALID,
 * ERR_H2O_ADAPTER_NOT_FOUND, ERR_H2O_ADAPTER_INVALID, ERR_H2O_INVALID_ARGUMENT, ERR_H2O_NO_BINARY; an abort rejects
 * with the signal's reason.
 */
export async function loadModel(options: string | ModelOptions): Promise<Model> {
  const checked = checkModelOptions(options)
  const { path, signal, onProgress, onWarning = emitProcessWarning } = checked.given
  signal?.throwIfAborted()
  await checkFile(path, 'model')
  for (const lora of checked.native.loras) await checkFile(lora.path, 'adapter')

  const model = new (native().NativeModel)()
  const onAbort = () => model.abort()
  const listener = new Listener(onProgress, onAbort)
  const timer = onProgress && setInterval(() => listener.tell(model.progress()), 50)
  signal?.addEventListener('abort', onAbort)
  try {
    signal?.throwIfAborted()
    const info = await model.open(checked.native)
    listener.tell(1)
    throwIfEnded()
    for (const warning of deviceWarnings(checked, info.nDevices)) onWarning(warning)
    return new Model(path, model, info)
  } catch (error) {
    await model.dispose()
    throwIfEnded()
    throw fromNative(error)
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', onAbort)
  }

  /** What ended it is told in place of what came of that. */
  function throwIfEnded(): void {
    if (listener.thrown !== undefined) throw listener.thrown
    signal?.throwIfAborted()
  }
}

const fileCodes = {
  model: { missing: 'ERR_H2O_MODEL_NOT_FOUND', invalid: 'ERR_H2O_MODEL_INVALID' },
  adapter: { missing: 'ERR_H2O_ADAPTER_NOT_FOUND', invalid: 'ERR_H2O_ADAPTER_INVALID' },
} as const

/** What is plainly no model is said in our words, before llama.cpp reads it. */
async function checkFile(path: string, what: keyof typeof fileCodes): Promise<void> {
  const codes = fileCodes[what]
  const details: Record<string, unknown> = { path }
  const invalid = (message: string) => new H2oError(codes.invalid, message, { details })
  try {
    const { size } = await stat(path).then((found) => {
      if (!found.isFile()) throw invalid(`${path} is not a file`)
      return found
    })
    details.bytes = size
    const file = await open(path)
    try {
      const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0)
      if (buffer.toString('latin1') !== 'GGUF') throw invalid(`${path} is not a GGUF file`)
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof H2oError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new H2oError(codes.missing, `there is no file ${path}`, { details, cause })
    }
    throw new H2oError(codes.invalid, `${path} cannot be read: ${(cause as Error).message}`, {
      details: { ...details, errno: code },
      cause,
    })
  }
}
