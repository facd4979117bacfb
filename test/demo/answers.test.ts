// What the demo shows first: its document is this project's documentation, which changes.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

test('the demo shows right answers only', async () => {
  const script = join(root, 'scripts/demo.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--layers', '0'])
  expect(stdout).not.toContain('wrong')
  expect(stdout.match(/\bok \d/g)).toHaveLength(8)
})
