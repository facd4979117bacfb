// The model in the box: what the commands take without -m.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../native/binding.js'
import { UsageError } from './usage-error.js'

/** The recall model: trained to look things up in 8192 tokens, and good for nothing else. */
export const builtInModel = () => join(packageRoot(), 'model', 'recall-q8_0.gguf')

/** -m, or the model in the box, which is said. @throws UsageError if there is neither */
export function modelPath({ model }: { model?: string }, say: (line: string) => void): string {
  if (model) return model
  const path = builtInModel()
  if (!existsSync(path)) throw new UsageError('no model was given', 'use -m FILE, or set LLAMA_ARG_MODEL')
  say(`no -m: using ${path}, a 1 M parameter model that recalls facts and writes no sense`)
  return path
}
