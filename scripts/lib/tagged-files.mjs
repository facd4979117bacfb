// Files of core that have cases of another part: by a tag of their own, or by the module that is named after it.

import { spawnSync } from 'node:child_process'
import { Failure } from './fail.mjs'
import { PROJECT_ROOT } from './layout.mjs'
import { CORE, partOf } from './parts.mjs'

export function taggedFiles(name) {
  const uses = ['-e', `tags: \\[.*'${name}'`, '-e', `from '(\\./|.*/engine/)${name}\\.js'`]
  const { status, stdout, stderr } = spawnSync(
    'git',
    ['grep', '-l', '-E', '--untracked', ...uses, '--', 'test/*.test.ts'],
    { cwd: PROJECT_ROOT, encoding: 'utf8' },
  )
  if (status !== 0 && status !== 1) throw new Failure(`git grep failed: ${stderr}`) // 1: there is none
  return stdout.split('\n').filter((file) => file !== '' && partOf(file) === CORE)
}
