// A limit on open files, in processes of their own with the built command line: `npm run build:ts`.
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { root } from './support/spawn.js'

const under = (files: number, ...argv: string[]) =>
  spawnSync('sh', ['-c', `ulimit -n ${files} && exec "$0" "$@"`, process.execPath, ...argv], {
    encoding: 'utf8',
    cwd: root,
  })

it.skipIf(process.platform !== 'linux')('is named, wherever it is met', () => {
  const ended = [19, 20, 22, 24, 27, 30, 35, 100].map((files) => {
    if (under(files, '-e', '0').status !== 0) return 'no Node'
    const { status, stderr } = under(files, 'bin/h2o-prefill.js', 'serve', '--help')
    if (status === 0) return 'ok'
    expect(stderr).toMatch(
      /^h2o-prefill: error: too few files may be open \[ERR_H2O_FILE_LIMIT\]\nh2o-prefill: hint/,
    )
    return status
  })
  expect(ended).toContain(5)
  expect(ended.at(-1)).toBe('ok')
  expect(ended.filter((one) => !['no Node', 'ok', 5].includes(one as string))).toEqual([])
})
