// ik_llama.cpp as a contender: its llama-bench, a process for each prompt. It reads random tokens of the prompt's length and
// says how long that took; its CPU time has the loading of the model in it.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const PROGRAM = process.env.IK_LLAMA_BENCH

/** Whether IK_LLAMA_BENCH names its llama-bench. */
export const hasIkLlama = () => Boolean(PROGRAM)

const FLAGS = '-n 0 -r 1 -w 0 -b 4096 -ub 512 -fa 1 -rtr 1 -o json'
const TIMED = 'TIMEFORMAT="cpu %U %S"; time "$@"'

/** @returns {{ ask: (ids: number[]) => Promise<{ seconds: number, cpu: number }>, close: () => void }} */
export function openIkLlama({ file, threads }) {
  const argv = ['-m', file, '-t', threads, ...FLAGS.split(' ')]
  return {
    async ask(ids) {
      const command = ['-c', TIMED, '-', PROGRAM, ...argv, '-p', ids.length].map(String)
      const { stdout, stderr } = await promisify(execFile)('bash', command)
      const [, user, system] = /^cpu (\S+) (\S+)$/m.exec(stderr)
      const [, ns] = /"avg_ns": (\d+)/.exec(stdout) // there are warnings in its JSON
      return { seconds: Number(ns) / 1e9, cpu: Number(user) + Number(system) }
    },
    close: () => {},
  }
}
