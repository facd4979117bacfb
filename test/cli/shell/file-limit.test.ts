// A limit on open files, in processes of their own with the built command line: `npm run build:ts`.
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { root } from '../support/spawn.js'

const under = (files: number, ...argv: string[]) =>
  spawnSync('sh', ['-c', `ulimit -n ${files} && exec "$0" "$@"`, process.execPath, ...argv], {
    encoding: 'utf8',
    cwd: root,
  })

const NAMED = /^h2o-prefill: error: too few files may be open \[ERR_H2O_FILE_LIMIT\]\nh2o-prefill: hint/
const [major = 0] = process.versions.node.split('.').map(Number)

it.skipIf(process.platform !== 'linux')('is named, wherever it is met', () => {
  const ended = [19, 20, 21, 22, 24, 27, 30, 35, 100].map((files) => {
    if (under(files, 'dist/errors.js').status !== 0) return 'no Node'
    const { status, stderr } = under(files, 'bin/h2o-prefill.js', 'serve', '--help')
    if (status === 0) return 'ok'
    expect(stderr).toMatch(NAMED)
    return status
  })
  // Node 22 reads modules one after the other: where it can read one, it can read all
  if (major < 22) expect(ended).toContain(5)
  expect(ended.at(-1)).toBe('ok')
  expect(ended.filter((one) => !['no Node', 'ok', 5].includes(one as string))).toEqual([])
})

it.skipIf(process.platform !== 'linux')('is named by a command that comes late', () => {
  const { status, stderr } = under(
    60,
    '--input-type=module',
    '-e',
    `import { openSync } from 'node:fs'
     import { main } from './dist/cli/main.js'
     try { for (;;) openSync('/dev/null') } catch {}
     process.exitCode = await main(['serve', '--help'])`,
  )
  expect(stderr).toMatch(NAMED)
  expect(status).toBe(5)
})
