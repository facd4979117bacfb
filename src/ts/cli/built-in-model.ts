// The model in the box: what the commands take without -m.
import { join } from 'node:path'
import { packageRoot } from '../native/binding.js'
import type { CliIo } from './shell/io.js'
import { UsageError } from './shell/usage-error.js'

/** The recall model: trained to look things up in 8192 tokens, and good for nothing else. */
export const builtInModel = () => join(packageRoot(), 'model', 'recall-q8_0.gguf')

/**
 * -m, or the model in the box, which is said. @throws UsageError for an empty name, which is a variable that is not set
 */
export function modelPath({ model }: { model?: string }, io: Pick<CliIo, 'stderr'>): string {
  if (model === '') throw new UsageError('no model was given', 'use -m FILE, or leave -m out')
  if (model !== undefined) return model
  io.stderr.write(
    'no -m: using the recall model of the package, which finds facts in a long text and writes no sense\n',
  )
  return builtInModel()
}
