// What npm warns of at every install (EBADENGINE), and refuses with --engine-strict: a package that wants another Node.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { minVersion, satisfies } from 'semver'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

interface Entry {
  dev?: boolean
  optional?: boolean
  engines?: { node?: string }
}

const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const packages = Object.entries(read('package-lock.json').packages as Record<string, Entry>)

const unfit = (version: string, which: (entry: Entry) => boolean) =>
  packages
    .filter(([, entry]) => which(entry) && !satisfies(version, entry.engines?.node ?? '*'))
    .map(([path]) => path)

test('every dependency runs on the lowest Node that package.json allows', () => {
  const floor = minVersion(read('package.json').engines.node)?.version as string
  expect(unfit(floor, ({ dev }) => !dev)).toEqual([])
})

test('those of the checkout run on this one', () => {
  expect(unfit(process.versions.node, ({ optional }) => !optional)).toEqual([])
})
