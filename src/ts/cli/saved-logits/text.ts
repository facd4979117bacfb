// The text of a comparison: from -f and -p as ever, or the tokens of a saved file.
import type { Model } from '../../index.js'
import type { CompareFlags } from '../compare/options.js'
import { readPrompt } from '../run/prompt.js'
import type { CliIo } from '../shell/io.js'
import { checkNoInput, type Inputs } from '../shell/output-file.js'
import { UsageError } from '../shell/usage-error.js'
import { firstSaved } from './format.js'
import { type SavedLogits, wrongFile } from './reader.js'

type TextFlags = Inputs & Pick<CompareFlags, 'prompt' | 'escape' | 'saveAllLogits'>

/** undefined: the saved file has it. @throws UsageError */
export async function readText(
  flags: TextFlags,
  io: CliIo,
  warn: (message: string) => void,
): Promise<string | undefined> {
  const { prompt, file, klDivergenceBase: base, saveAllLogits: target } = flags
  for (const [name, path] of [
    ['--kl-divergence-base', base] as const,
    ['--save-all-logits', target] as const,
  ]) {
    if (path === '') throw new UsageError(`${name} names no file`)
  }
  if (base !== undefined && target !== undefined) {
    throw new UsageError('--save-all-logits saves what is computed, and with --kl-divergence-base nothing is')
  }
  if (target !== undefined) await checkNoInput('--save-all-logits', target, flags)
  if (base !== undefined && prompt === undefined && file === undefined) return undefined
  return readPrompt({ ...flags, escape: flags.escape ?? false }, () => io.stdin, warn)
}

/** @throws H2oError ERR_H2O_LOGITS_FILE where the file is of another model or text */
export async function textTokens(
  model: Pick<Model, 'tokenizeAsync' | 'nVocab'>,
  text: string | undefined,
  saved: SavedLogits | undefined,
  signal: AbortSignal,
): Promise<Int32Array> {
  const tokens = text === undefined ? undefined : await model.tokenizeAsync(text, { signal })
  if (!saved) return tokens as Int32Array
  if (saved.head.nVocab !== model.nVocab) {
    throw wrongFile(
      saved.path,
      `its vocabulary has ${saved.head.nVocab} tokens, the model's has ${model.nVocab}`,
    )
  }
  if (tokens && !saved.tokens.every((token, i) => token === tokens[i])) {
    throw wrongFile(saved.path, 'it was saved for another text', 'leave -f and -p out: the file has its text')
  }
  return saved.tokens
}

/** -c, or the windows of the file. @throws UsageError where both are given and differ */
export function windowsOf(ctxSize: number | undefined, saved: SavedLogits | undefined): number | undefined {
  if (!saved) return ctxSize
  if (ctxSize !== undefined && ctxSize !== saved.head.nCtx) {
    throw new UsageError(`-c ${ctxSize}: the file was saved with -c ${saved.head.nCtx}`, 'leave -c out')
  }
  return saved.head.nCtx
}

/** --skip, and never less than what the file leaves out. @throws UsageError where less was asked for */
export function skipOf(
  skip: number | undefined,
  chunk: number,
  saved: SavedLogits | undefined,
): number | undefined {
  if (!saved) return skip
  const first = firstSaved(saved.head.nCtx)
  if (skip !== undefined && skip < first) {
    throw new UsageError(`--skip ${skip}: the file has nothing of the first ${first} positions of a window`)
  }
  return skip ?? Math.max(chunk, first)
}
