import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { globs, OTHERS, UNIT } from './scripts/lib/parts.mjs'
import { LongestFirst } from './test/longest-first.js'

// Temporary files of all tests go with the run: hooks that remove them do not run where all tests of a file are
// skipped, nor where a signal ends the run. This file is loaded for each project
if (!basename(tmpdir()).startsWith('h2o-tests-')) {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-tests-'))
  chmodSync(folder, 0o711) // a test is another user for a moment
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
}

const seconds = (n: number) => ({ testTimeout: n * 1000, hookTimeout: 3 * n * 1000 })
const unit = globs(UNIT)
const elsewhere = OTHERS.flatMap(({ tests }) => globs(tests))

/** Core and the files that share a process, then a project for each part (scripts/lib/parts.mjs). */
const projects = [
  { name: 'unit', include: unit, isolate: false, ...seconds(20) },
  { name: 'core', include: ['test/**/*.test.ts'], exclude: [...unit, ...elsewhere], ...seconds(20) },
  ...OTHERS.filter(({ tests }) => tests.length > 0).map(({ name, tests, caseSeconds = 20 }) => ({
    name,
    include: globs(tests),
    ...seconds(caseSeconds),
  })),
]

export default defineConfig({
  oxc: { target: 'node20' },
  test: {
    // a test that loads the addon uses every core and some GB: no more than two at a time, each in its own process
    pool: 'forks',
    maxWorkers: 2,
    setupFiles: ['test/run-ended.ts', 'test/equal-bits.ts'],
    sequence: { sequencer: LongestFirst },
    tags: OTHERS.map(({ name, holds }) => ({ name, description: holds })),
    projects: projects.map((test) => ({ extends: true, test })),
  },
})
