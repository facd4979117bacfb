// Temporary files of measurements go with them, however they end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const module = new URL('../../bench/temporary.mjs', import.meta.url).href
const script = `
  import { writeFileSync } from 'node:fs'
  import { temporaryFolder } from '${module}'
  const { path, remove } = temporaryFolder('quality')
  writeFileSync(path + '/text', '')
  temporaryFolder('quality').remove()
  console.log('made')
  if (process.argv[1] === 'exit') setTimeout(() => process.exit(3), 50)
  else setInterval(() => {}, 1000)`

it.skipIf(process.platform === 'win32').each([
  ['exit', [3, null]],
  ['SIGINT', [null, 'SIGINT']],
  ['SIGTERM', [null, 'SIGTERM']],
] as const)('%s', async (how, end) => {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-temporary-'))
  const env = { ...process.env, TMPDIR: folder }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, how], { env })
  await once(child.stdout, 'data')
  expect(readdirSync(folder)).toHaveLength(1)
  if (how !== 'exit') child.kill(how)
  expect(await once(child, 'exit')).toEqual(end)
  expect(readdirSync(folder)).toEqual([])
})
