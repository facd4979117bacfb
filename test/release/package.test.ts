// What npm would do with the package beside unpacking it.

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

test('npm finds nothing to compile in it', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  expect(paths).toContain('binary.cjs')
  // `npm ci` runs node-gyp where there is one, whatever `gypfile` says: a lockfile does not keep it
  expect(paths).not.toContain('binding.gyp')
})
