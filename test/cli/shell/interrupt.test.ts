// The first signal aborts, the second one kills.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { root } from '../support/spawn.js'

const script = `
  import { writeSync } from 'node:fs'
  import { abortOnSignal } from '${pathToFileURL(join(root, 'dist/cli/shell/interrupt.js'))}'
  const busy = (ms) => { for (const end = performance.now() + ms; performance.now() < end; ); }
  abortOnSignal().controller.signal.onabort = () => { writeSync(1, 'aborted'); busy(300) }
  setTimeout(() => {}, 3000)
  writeSync(1, 'ready')`

it.skipIf(process.platform === 'win32')(
  'a second signal kills while the first one is being served',
  async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script])
    for (const word of ['ready', 'aborted']) {
      expect(String((await once(child.stdout, 'data'))[0])).toBe(word)
      child.kill('SIGTERM')
    }
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  },
)

it.skipIf(process.platform === 'win32')('one Ctrl-C that npm sends once more is one', async () => {
  const env = { ...process.env, npm_command: 'exec' }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { env })
  for (const word of ['ready', 'aborted']) {
    expect(String((await once(child.stdout, 'data'))[0])).toBe(word)
    child.kill('SIGINT')
  }
  await sleep(1200)
  expect(child.signalCode).toBeNull()
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([null, 'SIGINT'])
})
