// A build as a person sees it: what its commands print goes to a log file, the terminal gets one line of progress, and
// a failure shows what the log says about it.

import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { Failure } from './fail.mjs'
import { PROJECT_ROOT } from './layout.mjs'
import { Progress } from './progress.mjs'

const SHOWN = 40 // lines of the log
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
const ERROR = /^FAILED: |\berror\b.*?:|^CMake Error/i

export class LoggedBuild {
  /**
   * @param {string} name what is built  @param {string} file where its log goes
   * @param {{ write(text: string): unknown, isTTY?: boolean, columns?: number }} stream where the progress goes
   */
  constructor(name, file, stream = process.stderr) {
    this.file = file
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '')
    this.progress = new Progress(name, asTyped(file), stream)
  }

  /**
   * Runs one command of it. `todo` is told if it fails.
   * @param {string} command  @param {string[]} args
   * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, todo?: string }} options
   */
  async run(command, args, { env = {}, cwd = PROJECT_ROOT, todo } = {}) {
    const line = [command, ...args].join(' ')
    appendFileSync(this.file, `$ ${line}\n`)
    const from = statSync(this.file).size
    let failure
    try {
      failure = await this.#spawn(command, args, { cwd, env: { ...process.env, ...env } })
    } catch (error) {
      failure = `could not be started: ${error.message}`
    }
    if (failure === undefined) return
    this.progress.end('failed')
    const said = lastWords(readFileSync(this.file).subarray(from).toString())
    throw new Failure(
      `${line}\n${failure}. ${said ? `From ${this.progress.log}:\n\n${said}` : 'It printed nothing.'}`,
      todo,
    )
  }

  done() {
    this.progress.end()
  }

  /** A signal ends the command with all that it started, which a group of its own reaches, and then this process. */
  async #spawn(command, args, options) {
    const log = openSync(this.file, 'a')
    const detached = process.platform !== 'win32'
    const child = spawn(command, args, { ...options, detached, stdio: ['ignore', 'pipe', 'pipe'] })
    const forget = () => {
      for (const name of SIGNALS) process.off(name, end)
    }
    const end = (signal) => {
      forget()
      if (detached) killGroup(child.pid)
      else child.kill()
      process.kill(process.pid, signal)
    }
    for (const name of SIGNALS) process.on(name, end)
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8')
      output.on('data', (text) => {
        appendFileSync(log, text)
        this.progress.read(text)
      })
    }
    try {
      return await new Promise((resolve, reject) => {
        child.on('error', reject)
        child.on('close', (status, signal) =>
          resolve(status === 0 ? undefined : `ended with ${signal ?? `status ${status}`}`),
        )
      })
    } finally {
      forget()
    }
  }
}

function killGroup(leader) {
  try {
    process.kill(-leader, 'SIGTERM')
  } catch {
    // it has just ended, or never began
  }
}

/** The name by which the reader's shell finds it. */
function asTyped(file) {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}

/** From the first error on, or the end. */
function lastWords(text) {
  const lines = text.trimEnd().split('\n')
  const first = lines.findIndex((line) => ERROR.test(line))
  const start = first < 0 ? Math.max(0, lines.length - SHOWN) : first
  return lines.slice(start, start + SHOWN).join('\n')
}
