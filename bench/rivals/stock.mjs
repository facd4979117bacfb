// Unpatched llama.cpp as a contender: a process of stock-bench for each prompt. It says when the first token is there.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from '../../dist/cli/bench/child.js'

const PROGRAM = fileURLToPath(new URL('../../build-stock/bin/stock-bench', import.meta.url))

/** Whether `npm run bench:stock` was run. */
export const hasStock = () => existsSync(PROGRAM)

/**
 * @param {'on' | 'off'} flashAttn
 * @returns {{ ask: (ids: number[]) => Promise<{ seconds: number, cpu: number }>, close: () => void }}
 */
export function openStock({ file, flashAttn, threads }) {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-rivals-'))
  const tokens = join(folder, 'tokens')
  const signal = new AbortController().signal
  return {
    async ask(ids) {
      writeFileSync(tokens, Int32Array.from(ids))
      const argv = ['-n', ids.length, '-b', 4096, '-ub', 512, '-t', threads, '-fa', flashAttn].map(String)
      const { ttftMs, cpuMs } = await runChild(PROGRAM, [file, tokens, ...argv], signal)
      return { seconds: ttftMs[0] / 1000, cpu: cpuMs[0] / 1000 }
    },
    close: () => rmSync(folder, { recursive: true }),
  }
}
