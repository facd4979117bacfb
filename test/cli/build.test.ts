// `h2o-prefill build` as a user has it, with a stand-in for CMake.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { start } from './support/spawn.js'

const folder = mkdtempSync(join(tmpdir(), 'h2o-build-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends it with 130',
  async (signal) => {
    const began = join(folder, signal)
    const cmake = join(folder, 'cmake')
    writeFileSync(cmake, `#!/bin/sh\n: > ${began}\nexec sleep 3 > /dev/null 2>&1\n`)
    chmodSync(cmake, 0o755)
    const { child, ended } = start(['build'], { env: { PATH: `${folder}:/usr/bin:/bin` } })
    await vi.waitFor(() => expect(existsSync(began)).toBe(true), { timeout: 20_000 })
    child.kill(signal)
    const { code, out } = await ended
    expect({ code, out }).toEqual({ code: 130, out: '' })
  },
)
