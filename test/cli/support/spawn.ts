// The built CLI as a process of its own, as a user has it.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../', import.meta.url))

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

export interface Running {
  child: ChildProcessWithoutNullStreams
  ended: Promise<Ended>
  /** Resolves when stderr holds the text. */
  says(text: string): Promise<void>
}

export interface StartOptions {
  env?: Record<string, string>
  /** the package's folder */
  home?: string
}

export function start(argv: readonly string[], { env = {}, home = root }: StartOptions = {}): Running {
  if (!existsSync(join(home, 'dist/cli/main.js')))
    throw new Error('dist/ is missing: run `npm run build` first')
  const child = spawn(process.execPath, [join(home, 'bin/h2o-prefill.js'), ...argv], {
    env: { ...process.env, ...env },
  })
  const got = { out: '', err: '' }
  const waiting = new Set<() => void>()
  const check = () => {
    for (const look of waiting) look()
  }
  child.stdout.on('data', (part) => {
    got.out += part
  })
  child.stderr.on('data', (part) => {
    got.err += part
    check()
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...got }))
  })
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!got.err.includes(text)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
      ended.then(({ err }) => reject(new Error(`ended without saying "${text}":\n${err}`)))
    })
  return { child, ended, says }
}

/** Runs to the end, with `input` on stdin. */
export function spawnCli(argv: readonly string[], input = '', options?: StartOptions): Promise<Ended> {
  const { child, ended } = start(argv, options)
  child.stdin.end(input)
  return ended
}
