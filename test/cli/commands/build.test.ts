// `h2o-prefill build` as a user has it, with a stand-in for CMake.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { start } from '../support/spawn.js'

const folder = mkdtempSync(join(tmpdir(), 'h2o-build-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends it with 130, and what CMake started',
  async (signal) => {
    const began = join(folder, signal)
    const cmake = join(folder, 'cmake')
    writeFileSync(
      cmake,
      `#!/bin/sh
[ "$1" = --version ] && exit
sleep 60 > /dev/null 2>&1 &
echo $! > ${began}.part
mv ${began}.part ${began}
wait
`,
    )
    chmodSync(cmake, 0o755)
    const { child, ended } = start(['build'], { env: { PATH: `${folder}:/usr/bin:/bin` } })
    await vi.waitFor(() => expect(existsSync(began)).toBe(true), { timeout: 20_000 })
    child.kill(signal)
    const { code, out } = await ended
    expect({ code, out }).toEqual({ code: 130, out: '' })
    const compiler = Number(readFileSync(began, 'utf8'))
    await vi.waitFor(() => expect(() => process.kill(compiler, 0)).toThrow('ESRCH'), { timeout: 20_000 })
  },
)
