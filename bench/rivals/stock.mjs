// Unpatched llama.cpp as a contender: a process of stock-bench for each prompt. It says when the first token is there.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from '../../dist/cli/bench/child.js'
import { temporaryFolder } from '../temporary.mjs'

const PROGRAM = fileURLToPath(new URL('../../build-stock/bin/stock-bench', import.meta.url))

/** Whether `npm run bench:stock` was run. */
export const hasStock = () => existsSync(PROGRAM)

/**
 * @param {'on' | 'off'} flashAttn
 * @returns {{ ask: (ids: number[], predict: number) => Promise<{ seconds: number, whole: number, cpu: number }>, close: () => void }}
 */
export function openStock({ file, flashAttn, threads }) {
  const folder = temporaryFolder('rivals')
  const tokens = join(folder.path, 'tokens')
  const signal = new AbortController().signal
  return {
    async ask(ids, predict) {
      writeFileSync(tokens, Int32Array.from(ids))
      const sizes = ['-n', ids.length, '--predict', predict, '-b', 4096, '-ub', 512]
      const argv = [file, tokens, ...sizes, '-t', threads, '-fa', flashAttn].map(String)
      const { ttftMs, cpuMs, answerMs, answerCpuMs } = await runChild(PROGRAM, argv, signal)
      const [seconds, answer] = [ttftMs[0] / 1000, answerMs[0] / 1000]
      return { seconds, whole: seconds + answer, cpu: (cpuMs[0] + answerCpuMs[0]) / 1000 }
    },
    close: folder.remove,
  }
}
