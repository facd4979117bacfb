// `h2o-prefill build`: compiles the native addon where the package lies. scripts/build.mjs reads the options, as it
// reads those of `npm run build`.

import { ExitCode } from '../shell/exit-codes.js'
import type { CliIo } from '../shell/io.js'
import { runScript } from '../shell/script.js'

export async function main(argv: readonly string[], io: CliIo): Promise<number> {
  const wantsHelp = argv.includes('-h') || argv.includes('--help')
  const code = await runScript('build', ['--native', ...argv], wantsHelp ? 'inherit' : 'stderr')
  if (code === ExitCode.ok && !wantsHelp)
    io.stderr.write('h2o-prefill: built; h2o-prefill doctor tries it out\n')
  return code
}
