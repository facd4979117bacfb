// The prompts: one row of token ids in a file, of which every contender reads the first N.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ModelOptions } from '../../index.js'
import { demoText } from '../../model-maker/index.js'
import { runChild } from './child.js'
import type { TokenizeTask } from './worker.js'

export const workerPath = fileURLToPath(new URL('./worker.js', import.meta.url))

// a trained tokenizer makes one token of some four characters; what is too short is repeated
const CHARACTERS = 1 << 18

export interface Workload {
  /** int32 ids */
  tokens: string
  /** what llama.cpp calls the model */
  description: string
}

/** Writes nTokens tokens into `folder`, from the user's text or a made one, with the model's tokenizer. */
export async function makeWorkload(
  folder: string,
  model: ModelOptions,
  nTokens: number,
  given: string | undefined,
  signal: AbortSignal,
): Promise<Workload> {
  const text = join(folder, 'prompt.txt')
  await writeFile(text, given ?? demoText(CHARACTERS))
  const task: TokenizeTask = { kind: 'tokenize', model, text, tokens: join(folder, 'tokens.i32'), nTokens }
  const { description } = (await runChild(process.execPath, [workerPath, JSON.stringify(task)], signal)) as {
    description: string
  }
  return { tokens: task.tokens, description }
}
