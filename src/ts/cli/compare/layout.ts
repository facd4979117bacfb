// How the text is cut into windows, and each of them into a prompt and its continuation.
import { UsageError } from '../shell/usage-error.js'

export interface Layout {
  nWindows: number
  /** tokens of a window: nPrompt + nContinuation */
  nWindow: number
  nPrompt: number
  nContinuation: number
  /** the first position of a window that counts */
  first: number
}

export interface LayoutRequest {
  nTokens: number
  nCtxTrain: number
  /** the largest -ub */
  chunk: number
  /** -c, -n, --chunks and --skip */
  ctxSize: number | undefined
  continuation: number
  chunks: number
  skip: number | undefined
}

/** Of a window that nobody asked for: longer ones take long on a CPU. */
const MOST = 8192

/** @throws UsageError where the text is too short, or a prompt would hold no more than a chunk */
export function layOut(request: LayoutRequest): Layout {
  const { nTokens, chunk, continuation, chunks } = request
  const nWindow = windowOf(request)
  const nPrompt = nWindow - continuation
  if (nPrompt <= chunk) {
    const needed = `a prompt of more than one chunk (-ub ${chunk}) and the continuation (-n ${continuation})`
    if (request.ctxSize === undefined && nWindow === nTokens) {
      throw new UsageError(
        `the text has ${nTokens} tokens, too few for ${needed}`,
        'give a longer text, or lower -ub or -n',
      )
    }
    throw new UsageError(
      `a window of ${nWindow} tokens is too small for ${needed}`,
      'raise -c, or lower -ub or -n',
    )
  }
  if (nTokens < nWindow) {
    throw new UsageError(
      `the text has ${nTokens} tokens, fewer than one window of ${nWindow}`,
      'give a longer text, or lower -c',
    )
  }
  const first = request.skip ?? chunk
  // the window's last token is only predicted
  if (first >= Math.min(nPrompt, nWindow - 1)) {
    throw new UsageError(`--skip ${first} leaves nothing of a prompt of ${nPrompt} tokens`)
  }
  const there = Math.floor(nTokens / nWindow)
  const nWindows = chunks < 0 ? there : Math.min(there, chunks)
  if (nWindows === 0) throw new UsageError('--chunks 0 leaves nothing to compare')
  return { nWindows, nWindow, nPrompt, nContinuation: continuation, first }
}

function windowOf({ ctxSize, nCtxTrain, nTokens }: LayoutRequest): number {
  if (ctxSize !== undefined && ctxSize > 0) return ctxSize
  if (ctxSize === 0) {
    if (nCtxTrain <= 0) throw new UsageError('the model names no training context', 'give the window with -c')
    return nCtxTrain
  }
  return Math.min(nTokens, MOST, nCtxTrain > 0 ? nCtxTrain : MOST)
}
