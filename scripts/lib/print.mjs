// stdout of the scripts that h2o-prefill runs: console.log says nothing of a disk that is full.

import { Failure } from './fail.mjs'

process.stdout.on('error', () => {}) // told to the callback of each write

/** Writes a text and a line's end. A reader that left is no error. */
export async function print(text) {
  const error = await new Promise((resolve) => process.stdout.write(`${text}\n`, resolve))
  if (error && error.code !== 'EPIPE')
    throw new Failure(`cannot write to stdout: ${error.code ?? error.message}`)
}
