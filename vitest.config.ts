import { defineConfig } from 'vitest/config'

// builds the library once more: by itself, when everything else is through
const BUILDS = 'test/package/**'

export default defineConfig({
  oxc: { target: 'node20' },
  test: {
    // a test that loads the addon uses every core and some GB: no more than two at a time, each in its own process
    pool: 'forks',
    maxWorkers: 2,
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
