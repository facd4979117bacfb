// What a user does with a model file, from loading to disposing.
// Refusals with a code are fine; anything else is a finding.

import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, loadModel } from '../../dist/index.js'

const FILE = join(tmpdir(), `h2o-fuzz-${process.pid}.gguf`)

/** A violation of what the library promises. */
export class Finding extends Error {}

export function promise(holds, message) {
  if (!holds) throw new Finding(message)
}

/** The code of a refusal. Throws a Finding where there is none. */
export function codeOf(error) {
  if (error instanceof Finding) throw error
  if (error?.name === 'AbortError') return 'AbortError'
  promise(/^ERR_H2O_/.test(error?.code ?? ''), `an error without a code: ${error?.stack ?? error}`)
  return error.code
}

/** What use of a model file draws, too. */
export function drawUse(draw) {
  return {
    useMmap: draw.chance(0.8),
    context: {
      nUbatch: draw.pick([16, 64, 100]),
      nThreads: draw.chance(0.1) ? 2 : 1,
      flashAttn: draw.pick(['auto', 'on', 'off']),
      h2o: draw.weighted([
        [6, { local: 16, heavy: 16 }],
        [2, { local: 16, heavy: 16, schedule: 'two-pass' }],
        [2, false],
      ]),
    },
  }
}

/** 'ok', or the code of the refusal and where it came; `more` are options of loadModel(). */
export async function useModel(bytes, use, text, more = {}) {
  await writeFile(FILE, bytes)
  return useFile(FILE, use, text, more)
}

export async function useFile(path, { useMmap, context }, text, more = {}) {
  let at = 'load'
  let model
  let opened
  try {
    model = await loadModel({ path, loadMode: useMmap ? 'mmap' : 'none', ...more })
    at = 'tokenize'
    const tokens = model.tokenize(text, { parseSpecial: true })
    promise(
      tokens.length <= 1100 * Buffer.byteLength(text) + 16,
      `${tokens.length} tokens of ${text.length} characters`,
    )
    model.detokenize(tokens)

    at = 'open'
    opened = await createContext({ model, nCtx: 512, nBatch: 192, ...context })
    at = 'prefill'
    const prompt =
      tokens.length > 0 && tokens.length < 400
        ? tokens
        : Array.from({ length: 250 }, (_, i) => i % model.nVocab)
    const { logits } = await opened.prefill(prompt)
    promise(logits.length === model.nVocab, `${logits.length} logits`)
    at = 'generate'
    for await (const { token } of opened.generate(prompt, { nPredict: 3, seed: 1 })) {
      promise(token >= 0 && token < model.nVocab, `token ${token}`)
    }
    at = 'state'
    await opened.loadState(await opened.saveState())
    return 'ok'
  } catch (error) {
    return `${at} ${codeOf(error)}`
  } finally {
    await opened?.dispose()
    await model?.dispose()
  }
}
