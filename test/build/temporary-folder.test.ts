// What tests leave behind is gone when their run has ended, however it did.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { homeOfPackage } from '../../scripts/lib/run.mjs'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'h2o-run-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A run of the tests in a file with these words in their names. */
const run = (file: string, words: string) =>
  spawn(process.execPath, [join(homeOfPackage('vitest'), 'vitest.mjs'), 'run', file, '-t', words], {
    env: { ...process.env, TMPDIR: folder, TEMP: folder },
    stdio: 'ignore',
  })

it.each([
  ['of a file whose tests are all skipped', 'test/build/logged-build.test.ts', 'no such test'],
  ['of tests without hooks', 'test/language/journal.test.ts', 'measures each key once'],
])('%s', async (_, file, words) => {
  const [code] = await once(run(file, words), 'exit')
  expect(code).toBe(0)
  expect(readdirSync(folder)).toEqual([])
})

it.skipIf(process.platform === 'win32')('of a run that a signal ends', async () => {
  const child = run('test/build/logged-build.test.ts', '')
  const names = () => readdirSync(folder, { recursive: true }).join()
  while (child.exitCode === null && !names().includes('h2o-build-')) await sleep(20)
  child.kill('SIGTERM')
  await once(child, 'exit')
  await vi.waitFor(() => expect(readdirSync(folder)).toEqual([]), { timeout: 10_000 }) // its workers end after it
})
