// A contender that is a process: it reads a prompt a line, and writes a line with its answer.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * @param {string} name for the error of one that ends early
 * @returns {{ ask: (ids: number[], predict: number) => Promise<{ seconds: number, cpu: number, tokens: number[] }>,
 *   close: () => void }}
 */
export function openLines(name, program, args) {
  const child = spawn(program, args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(ids, predict) {
      child.stdin.write(`${JSON.stringify({ ids, predict })}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${name} ended without an answer`)
      return JSON.parse(value)
    },
    close: () => child.stdin.end(),
  }
}
