import { defineConfig } from 'vitest/config'

export default defineConfig({
  esbuild: { target: 'node20' },
  test: {
    include: ['test/**/*.test.ts'],
    // a test that loads the addon uses every core and some GB: no more than two at a time, each in its own process
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
