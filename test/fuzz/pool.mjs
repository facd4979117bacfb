// Runs mutants in child processes: a child that dies, hangs or grows too big is a finding, and is replaced.

import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rssOf } from './memory.mjs'

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url))

const HANG_MS = 20_000
const MEMORY_LIMIT = 4 * 2 ** 30
/** Beyond these a child is replaced between two mutants: contexts that were given up stay in its memory. */
const MUTANTS_PER_CHILD = 500
const MEMORY_TO_KEEP = 1.5 * 2 ** 30

export class Pool {
  #idle = []
  /** Of the children, which may be killed at any time. */
  #scratch = mkdtempSync(join(tmpdir(), 'h2o-fuzz-'))

  /** Runs a recipe -> { outcome } or { finding }. */
  async one(recipe) {
    const worker = this.#idle.pop() ?? { child: start(this.#scratch), mutants: 0 }
    const result = await ask(worker.child, recipe)
    worker.mutants++
    const spent = worker.mutants >= MUTANTS_PER_CHILD || rssOf(worker.child.pid) > MEMORY_TO_KEEP
    if (result.dead || spent) worker.child.kill('SIGKILL')
    else this.#idle.push(worker)
    return result
  }

  close() {
    for (const { child } of this.#idle.splice(0)) child.kill('SIGKILL')
    rmSync(this.#scratch, { recursive: true, force: true })
  }
}

function start(scratch) {
  const env = { ...process.env, TMPDIR: scratch, TEMP: scratch }
  const child = fork(CHILD, { env, execArgv: ['--no-warnings'], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  child.log = ''
  child.stderr.on('data', (chunk) => {
    child.log = (child.log + chunk).slice(-2000)
  })
  return child
}

function ask(child, recipe) {
  return new Promise((resolve) => {
    const end = (result) => {
      clearTimeout(hang)
      clearInterval(watch)
      child.off('message', end)
      child.off('exit', died)
      resolve(result)
    }
    const dead = (finding) => end({ finding, dead: true })
    const died = (code, signal) => dead(`the process ended with ${signal ?? code}: ${child.log}`)
    const hang = setTimeout(() => dead(`no end after ${HANG_MS / 1000} s`), HANG_MS)
    const watch = setInterval(() => {
      if (rssOf(child.pid) > MEMORY_LIMIT) dead(`memory above ${MEMORY_LIMIT} bytes`)
    }, 100)
    child.on('message', end)
    child.on('exit', died)
    child.send(recipe)
  })
}
