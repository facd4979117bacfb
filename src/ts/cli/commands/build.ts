// `h2o-prefill build`: compiles the native addon where the package lies. scripts/build.mjs reads the options, as it
// reads those of `npm run build`.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../native/binding.js'
import { ExitCode } from '../exit-codes.js'
import type { CliIo } from '../io.js'

export async function main(argv: readonly string[], io: CliIo): Promise<number> {
  const wantsHelp = argv.includes('-h') || argv.includes('--help')

  const script = join(packageRoot(), 'scripts', 'build.mjs')
  const child = spawn(process.execPath, [script, '--native', ...argv], {
    stdio: ['ignore', wantsHelp ? 'inherit' : 2, 'inherit'],
  })
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (status === 2) return ExitCode.usage
  if (status !== 0) return ExitCode.failure
  if (!wantsHelp) io.stderr.write('h2o-prefill: built; h2o-prefill doctor tries it out\n')
  return ExitCode.ok
}
