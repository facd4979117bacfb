/** A context: a native context with its sequences, the first of which it is itself. */

import { Askers } from './askers.js'
import { ContextHandle, type SharedContext } from './context-handle.js'
import { disposedError, fromNative, H2oError } from './errors.js'
import { markForInstanceof } from './instanceof-mark.js'
import { loadModel, Model, nativeModelOf } from './model.js'
import type { ModelOptions } from './model-options.js'
import { native } from './native/binding.js'
import type { NativeCall, NativeContext, NativeContextInfo, NativeH2oOptions } from './native/surface.js'
import {
  type ContextOptions,
  checkContextOptions,
  decodeOf,
  resolveContextSize,
  trainingWarnings,
} from './options.js'
import { Scheduler, type StepTogether } from './scheduler.js'
import { handleOf, Sequence, type SequenceTraits } from './sequence.js'
import type { ContextH2o, ContextMemory, LayerKind, Reason, Schedule } from './types.js'
import { emitProcessWarning, type H2oWarning, type WarningListener } from './warnings.js'

/** With `parallel` above 1 it has further sequences, each with a cache of its own; itself it is the first one. */
export class Context extends Sequence {
  static {
    markForInstanceof(Context.prototype, 'Context')
  }

  readonly #shared: SharedContext
  readonly #sequences = new Map<number, Sequence>()

  /** Use createContext(). */
  constructor(model: Model, ownsModel: boolean, shared: SharedContext) {
    const handle = new ContextHandle(shared, 0)
    const askers = shared.kvUnified ? new Askers(handle) : undefined
    const free = async () => {
      shared.scheduler.close(disposedError('context'))
      await askers?.dispose()
      await Promise.allSettled([...this.#sequences.values()].map((sequence) => sequence.dispose()))
      await shared.native.dispose()
      if (ownsModel) await model.dispose()
    }
    super(traitsOf(model, shared), handle, free, askers)
    this.#shared = shared
  }

  /**
   * Another sequence, empty: what is read and generated there knows nothing of this one, and runs beside it. It is free
   * for others when it is disposed. Throws ERR_H2O_NO_SEQUENCE where all `parallel` of them are in use, as with kvUnified,
   * where they are for those who ask.
   */
  sequence(): Sequence {
    const { parallel, native, kvUnified } = this.#shared
    this[handleOf]()
    for (let id = 1; id < parallel && !kvUnified; id++) {
      if (this.#sequences.has(id)) continue
      const sequence = new Sequence(this, new ContextHandle(this.#shared, id), async () => {
        native.takeTrace(id) // it is not of who has the sequence next
        await native.forget(id, 0, -1).finally(() => this.#sequences.delete(id))
      })
      this.#sequences.set(id, sequence)
      return sequence
    }
    const use = kvUnified ? 'for the questions of Document.ask() (kvUnified)' : 'in use'
    throw new H2oError('ERR_H2O_NO_SEQUENCE', `all ${parallel} sequences of the context are ${use}`, {
      details: { parallel },
      ...(kvUnified && { hint: 'ask the document, or make the context without kvUnified' }),
    })
  }
}

function traitsOf(model: Model, { info, denseTail, parallel }: SharedContext): SequenceTraits {
  const { nCtx, nBatch, nUbatch } = info
  return { model, nCtx, nBatch, nUbatch, parallel, h2o: h2oOf(info, denseTail), memory: memoryOf(info) }
}

function h2oOf(info: NativeContextInfo, denseTail: number): ContextH2o {
  return {
    covered: info.reason === null,
    reason: info.reason as Reason | null,
    schedule: info.schedule as Schedule,
    select: info.select,
    chunk: info.chunk,
    local: info.local,
    heavy: info.heavy,
    heavyGrows: info.heavyGrows,
    denseTail,
    group: info.group,
    decode: decodeOf(info.decode),
    decodeReason: info.decodeReason as Reason | null,
    layers: info.layers as LayerKind[],
    cost: {
      linear: info.linearFlops,
      pair: info.pairFlops,
      windowPair: info.windowPairFlops,
      window: info.window,
    },
  }
}

function memoryOf(info: NativeContextInfo): ContextMemory {
  return {
    h2oStateBytes: info.stateBytes,
    h2oIndexBytes: info.indexBytes,
    h2oIntraBytes: info.intraBytes,
    kvBytes: info.kvBytes,
    computeBytes: info.computeBytes,
    sparseComputeBytes: info.sparseBytes,
    sparseGraphNodes: info.sparseNodes,
  }
}

/**
 * Makes a context, and loads its model if a path or model options are given. Throws what loadModel() throws,
 * ERR_H2O_CONTEXT_MEMORY, ERR_H2O_CONTEXT_CREATE, ERR_H2O_INVALID_ARGUMENT.
 */
export async function createContext(options: ContextOptions): Promise<Context> {
  const checked = checkContextOptions(options)
  const { model: given } = checked
  const model = given instanceof Model ? given : await loadModel(withListener(given, checked.onWarning))
  try {
    const nativeModel = model[nativeModelOf]()
    const { denseTail, parallel, kvUnified, contBatching } = checked
    const nCtx = resolveContextSize(checked.nCtx, model.nCtxTrain, kvUnified ? 1 : parallel)
    const context = new (native().NativeContext)(nativeModel)
    try {
      const info = await context.open({ ...checked.native, nCtx })
      const warnings = [
        ...checked.warnings,
        ...trainingWarnings(checked.nCtx, model.nCtxTrain, checked.native.rope),
        ...decodeWarnings(checked.native.h2o, info),
        ...gpuWarnings(info),
      ]
      for (const warning of warnings) (checked.onWarning ?? emitProcessWarning)(warning)
      const { flashAttn, upstreamProducts } = checked.native
      const scheduler = new Scheduler(kvUnified || contBatching ? stepTogether(context) : undefined)
      const shared = {
        native: context,
        info,
        nVocab: model.nVocab,
        denseTail,
        flashAttn,
        upstreamProducts,
        scheduler,
        parallel,
        kvUnified,
      }
      return new Context(model, model !== given, shared)
    } catch (error) {
      await context.dispose()
      throw error
    }
  } catch (error) {
    if (model !== given) await model.dispose()
    throw fromNative(error)
  }
}

function stepTogether(native: NativeContext): StepTogether {
  return async (waiting) => {
    const rows = waiting.toSorted((a, b) => a.sequence - b.sequence) // llama.cpp puts neighbours alone into one graph
    try {
      const sequences = Int32Array.from(rows, ({ sequence }) => sequence)
      const tokens = Int32Array.from(rows, ({ token }) => token)
      const results = await native.step(sequences, tokens)
      for (const [i, { resolve, reject }] of rows.entries()) {
        const result = results[i] as NativeCall | { error: unknown }
        if ('error' in result) reject(result.error)
        else resolve(result as never)
      }
    } catch (error) {
      for (const { reject } of rows) reject(error)
    }
  }
}

function decodeWarnings(
  { decode }: NativeH2oOptions,
  { decodeReason, group }: NativeContextInfo,
): H2oWarning[] {
  if (decode === 0 || decodeReason === null) return []
  const why =
    decodeReason === 'off'
      ? `with ${group} query heads to a KV head 'auto' would choose so many that little is gained`
      : `this context cannot choose (${decodeReason})`
  const message = `decode: every decoded token reads all keys, ${why}`
  return [{ code: 'H2O_WARN_DECODE_DENSE', message }]
}

/** The search compares all keys, and large sets cost as much as they hold: docs/gpu.md. */
export function gpuWarnings({
  reason,
  heavyGrows,
  onGpu,
}: Pick<NativeContextInfo, 'reason' | 'heavyGrows' | 'onGpu'>): H2oWarning[] {
  if (reason !== null || !heavyGrows || !onGpu) return []
  const message =
    'on a GPU, sets that grow with the prompt are expected to take longer than dense attention: ' +
    "give heavy (--h2o-heavy 640), take select: 'votes', or switch h2o off"
  return [{ code: 'H2O_WARN_HEAVY_ON_GPU', message }]
}

/** A model of the context's own warns where the context does. */
function withListener(
  given: string | ModelOptions,
  onWarning: WarningListener | undefined,
): string | ModelOptions {
  if (!onWarning) return given
  return { onWarning, ...(typeof given === 'string' ? { path: given } : given) }
}
