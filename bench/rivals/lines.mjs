// A contender that is a process: it writes a line when it is ready, reads a line of JSON, and writes one with its answer.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * @param {string} name for the error of one that ends early
 * @returns {Promise<{ say: (request: object) => Promise<object>, close: () => void }>}
 */
export async function openLines(name, program, args) {
  const child = spawn(program, args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${name} ended without an answer`)
    return value
  }
  await line() // what loads a model beside others would take their time
  return {
    async say(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`)
      return JSON.parse(await line())
    },
    close: () => child.stdin.end(),
  }
}
