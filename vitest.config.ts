import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { defineConfig } from 'vitest/config'

// Temporary files of all tests go with the run: hooks that remove them do not run where all tests of a file are
// skipped, nor where a signal ends the run. This file is loaded for each project
if (!basename(tmpdir()).startsWith('h2o-tests-')) {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-tests-'))
  chmodSync(folder, 0o711) // a test is another user for a moment
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
}

// builds the library once more: by itself, when everything else is through
const BUILDS = 'test/package/**'

export default defineConfig({
  oxc: { target: 'node20' },
  test: {
    // a test that loads the addon uses every core and some GB: no more than two at a time, each in its own process
    pool: 'forks',
    maxWorkers: 2,
    setupFiles: 'test/run-ended.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: { name: 'all', include: ['test/**/*.test.ts'], exclude: [BUILDS], sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: 'package', include: [`${BUILDS}/*.test.ts`], sequence: { groupOrder: 1 } },
      },
    ],
  },
})
