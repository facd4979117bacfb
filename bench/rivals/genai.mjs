// OpenVINO GenAI as a contender: a process of genai.py for each of its modes, which answers one prompt after another.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { interpreter } from '../quality/python.mjs'

const SCRIPT = fileURLToPath(new URL('genai.py', import.meta.url))

/** The Python that has the packages, if there is one; PYTHON names it. */
export const genaiPython = () => interpreter('import openvino_genai, openvino_tokenizers')

/**
 * @param {string} mode dense, xattention or trishape  @param {number} longest tokens of the longest prompt
 * @returns {{ ask: (ids: number[], predict: number) => Promise<{ seconds: number, cpu: number, tokens: number[] }>,
 *   close: () => void }}
 */
export function openGenai(program, { file, mode, threads, longest }) {
  const child = spawn(program, ['-B', SCRIPT, file, mode, String(threads), String(longest)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(ids, predict) {
      child.stdin.write(`${JSON.stringify({ ids, predict })}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`genai.py ${mode} ended without an answer`)
      return JSON.parse(value)
    },
    close: () => child.stdin.end(),
  }
}
