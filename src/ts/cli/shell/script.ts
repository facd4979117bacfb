// Commands whose work is a script of the package: it reads their arguments, and says what it does.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../native/binding.js'
import { ExitCode } from './exit-codes.js'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Runs scripts/NAME.mjs to its end. A signal is passed on, and the script ends in its own way.
 * @param stdout where its stdout goes: its own place, or stderr
 */
export async function runScript(
  name: string,
  argv: readonly string[],
  stdout: 'inherit' | 'stderr' = 'inherit',
): Promise<ExitCode> {
  const script = join(packageRoot(), 'scripts', `${name}.mjs`)
  const child = spawn(process.execPath, [script, ...argv], {
    stdio: ['ignore', stdout === 'inherit' ? 'inherit' : 2, 'inherit'],
  })
  const passOn = (signal: NodeJS.Signals) => void child.kill(signal)
  for (const signal of SIGNALS) process.on(signal, passOn)
  try {
    const status = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) => resolve(code ?? signal))
    })
    return exitCodeOf(status)
  } finally {
    for (const signal of SIGNALS) process.off(signal, passOn)
  }
}

function exitCodeOf(status: number | NodeJS.Signals | null): ExitCode {
  if (status === ExitCode.ok || status === ExitCode.usage || status === ExitCode.interrupted) return status
  return (SIGNALS as readonly unknown[]).includes(status) ? ExitCode.interrupted : ExitCode.failure
}
