// The contexts of one group over one model: one per setting, and a dense one where that is asked for.
import { hostMemory } from '../../host-memory.js'
import type { Context, ContextOptions, createContext, H2oError, Model } from '../../index.js'
import { threadCounts } from '../flags/flags.js'
import { explainReason } from '../reasons.js'
import { mebibytes } from '../shell/format.js'
import type { Layout } from './layout.js'
import type { CompareFlags } from './options.js'
import { Outcome } from './outcome.js'
import type { Setting } from './settings.js'
import { type Contender, callsOf } from './walk.js'

export interface ContextApi {
  createContext: typeof createContext
  H2oError: typeof H2oError
}

export interface Group {
  /** undefined: something else is compared with */
  dense: Context | undefined
  contenders: Contender[]
  /** tokens at the end of a prompt that all members prefill densely */
  denseTail: number
  dispose(): Promise<void>
}

type ContextFlags = Pick<CompareFlags, 'threads' | 'threadsBatch' | 'flashAttn' | 'cacheTypeK' | 'cacheTypeV'>

/** @throws H2oError ERR_H2O_CONTEXT_MEMORY, and an Error that says why where H2O does not serve the model */
export async function openGroup(
  api: ContextApi,
  model: Model,
  settings: readonly Setting[],
  layout: Layout,
  flags: ContextFlags,
  withDense: boolean,
  warn: (message: string) => void,
): Promise<Group> {
  const opened: Context[] = []
  const dispose = async () => {
    for (const context of opened) await context.dispose()
  }
  const open = async ({ nBatch, nUbatch, off }: Setting, h2o: ContextOptions['h2o'] & {}) => {
    const context = await api.createContext({
      model,
      nCtx: layout.nWindow,
      nBatch,
      nUbatch,
      ...threadCounts(flags),
      flashAttn: flags.flashAttn,
      typeK: flags.cacheTypeK,
      typeV: flags.cacheTypeV,
      h2o,
      upstreamProducts: off ?? false,
      onWarning: ({ message }) => warn(message),
    })
    opened.push(context)
    if (opened.length === 1) checkMemory(api, context, model, nContexts, largestCall(context), warn)
    return context
  }
  const denseTail = settings[0]?.denseTail ?? 0
  const nContexts = settings.length + (withDense ? 1 : 0)
  const largestCall = (context: Context) =>
    Math.max(...callsOf(layout, [context], denseTail).map(({ n }) => n))
  try {
    const dense = withDense ? await open(settings[0] as Setting, false) : undefined
    const contenders: Contender[] = []
    for (const setting of settings) {
      const context = await open(setting, setting.off ? false : h2oOptions(setting))
      checkCovered(context)
      contenders.push({ context, outcome: new Outcome(headOf(context), layout) })
    }
    return { dense, contenders, denseTail, dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

// what was not given stays out: the API clamps its own defaults silently
function h2oOptions({ schedule, select, local, heavy, denseTail }: Setting) {
  return {
    schedule,
    denseTail,
    ...(select !== undefined && { select }),
    ...(local !== undefined && { local }),
    ...(heavy !== undefined && { heavy }),
  }
}

function headOf({ h2o, nBatch, nUbatch }: Context): Outcome['head'] {
  const { schedule, select, local, heavy, denseTail } = h2o
  return {
    schedule,
    select,
    n_batch: nBatch,
    n_ubatch: nUbatch,
    h2o: { local, heavy, dense_tail: denseTail },
  }
}

/** Off is what was asked for; with any other reason all would be dense, and look as if nothing had been lost. */
function checkCovered({ h2o: { reason }, nBatch, nUbatch }: Context): void {
  if (reason === null || reason === 'off') return
  const why = explainReason(reason, { nBatch, nUbatch })
  throw new Error(`there is nothing to compare, every prefill would be dense (${reason}: ${why})`)
}

/**
 * Context by context the API checks itself; here are all of them with their logits. Those lie in the host's memory for
 * sure, caches and weights may be a GPU's.
 */
function checkMemory(
  { H2oError }: ContextApi,
  first: Context,
  model: Model,
  contexts: number,
  largest: number,
  warn: (message: string) => void,
): void {
  const each = largest * model.nVocab * Float32Array.BYTES_PER_ELEMENT
  // the last call's in each context, the two copies that are compared, and two that the collector may still hold
  const logits = (contexts + 4) * each
  const limit = hostMemory()
  const hint = 'compare fewer settings at once, or lower -ub, -b (3 of -ub will do) or -c'
  if (logits > limit) {
    const message =
      `logits of ${contexts} contexts, ${mebibytes(each)} each for ${largest} tokens of ${model.nVocab}, ` +
      `do not fit into ${mebibytes(limit)} of memory`
    throw new H2oError('ERR_H2O_CONTEXT_MEMORY', message, {
      details: { bytes: logits, limit, contexts },
      hint,
    })
  }
  const { kvBytes, computeBytes } = first.memory
  const all = logits + contexts * (kvBytes + computeBytes)
  if (all > limit) {
    warn(
      `${contexts} contexts and their logits take about ${mebibytes(all)}, the machine has ${mebibytes(limit)}: ${hint}`,
    )
  }
}
