// The one place where flags of `run` become options of the API.
import { asksForDrafts } from '../../drafting.js'
import type { ContextOptions, GenerateOptions, H2oWarning, Model } from '../../index.js'
import { defaultThreads } from '../../threads.js'
import { UsageError } from '../shell/usage-error.js'
import { type FlagsOf, optionsOf } from './option.js'
import { batchRows, cacheRows, h2oRows, type RunFlags, ropeRows, samplingRows } from './options.js'
import { breakers } from './sampling-flags.js'

/** With -n -1 and no -c, the context has room for this many tokens after the prompt. */
export const ROOM_WITHOUT_LIMIT = 4096

type ContextSizeFlags = Pick<RunFlags, 'ctxSize' | 'predict' | 'ubatchSize'>

type ContextRows = [typeof batchRows, typeof ropeRows, typeof cacheRows, typeof h2oRows][number]

export type ContextFlags = FlagsOf<ContextRows> & ContextSizeFlags

/** @throws UsageError for --h2o-decode with --no-h2o: all would be read */
export function contextOptions(
  flags: ContextFlags,
  model: Model,
  nPrompt: number,
  onWarning: (warning: H2oWarning) => void,
): ContextOptions {
  if (!flags.h2o && flags.h2oDecode) {
    throw new UsageError('--h2o-decode is for contexts with H2O', 'leave --no-h2o out')
  }
  return {
    model,
    nCtx: contextSize(flags, nPrompt, model.nCtxTrain),
    ...optionsOf(batchRows, flags),
    ...optionsOf(cacheRows, flags),
    ...threadCounts(flags),
    rope: {
      ...(flags.ropeScale !== undefined && { freqScale: 1 / flags.ropeScale }),
      ...optionsOf(ropeRows, flags),
    },
    // the API clamps its own defaults silently and a given value with a warning
    h2o: flags.h2o && optionsOf(h2oRows, flags),
    onWarning,
  }
}

/** @throws UsageError for --spec-type with --h2o-decode: drafts are checked by all keys */
export function generateOptions(flags: RunFlags): GenerateOptions {
  const { drySequenceBreaker: given } = flags
  if (flags.h2oDecode && asksForDrafts(flags.specType)) {
    throw new UsageError('--spec-type checks drafts by all keys', 'leave --h2o-decode out')
  }
  return {
    ...optionsOf(samplingRows, flags),
    ...(given && { drySequenceBreakers: breakers(given, flags.escape) }),
  }
}

/**
 * -c as given (0 = training context). Left out, it is enough for the prompt and -n, up to the training context. A call
 * can always hold more than one chunk: llama.cpp cuts -b down to the context, and the reason would be the wrong one.
 */
export function contextSize(flags: ContextSizeFlags, nPrompt: number, nCtxTrain: number): number {
  if (flags.ctxSize !== undefined) return flags.ctxSize
  const room = flags.predict < 0 ? ROOM_WITHOUT_LIMIT : flags.predict
  return Math.min(Math.max(nPrompt + room, flags.ubatchSize + 1), nCtxTrain)
}

export function threadCounts(
  flags: Pick<RunFlags, 'threads' | 'threadsBatch'>,
): Pick<ContextOptions, 'nThreads' | 'nThreadsBatch'> {
  const nThreads = threads(flags.threads)
  const nThreadsBatch = threads(flags.threadsBatch) ?? nThreads
  return {
    ...(nThreads !== undefined && { nThreads }),
    ...(nThreadsBatch !== undefined && { nThreadsBatch }),
  }
}

// llama.cpp: a count of 0 or less means all cores
function threads(given: number | undefined): number | undefined {
  return given !== undefined && given <= 0 ? defaultThreads() : given
}
