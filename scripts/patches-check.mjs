#!/usr/bin/env node
// npm run patches:check: patches, tree, budget and hook table agree. Makes vendor/llama.cpp if it is not there.

import { existsSync } from 'node:fs'
import { checkPatches } from './lib/check.mjs'
import { Failure, main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { changedLines } from './lib/patch-file.mjs'
import { vendor } from './lib/vendor.mjs'

await main(() => {
  const paths = layout()
  if (!existsSync(paths.tree)) vendor(paths, { say: (line) => console.error(line) })
  const { complaints, patches } = checkPatches(paths)
  if (complaints.length > 0) {
    throw new Failure(`patches/ is not in order:\n\n${complaints.map((line) => `- ${line}`).join('\n')}`)
  }
  const files = patches.flatMap((patch) => patch.files)
  const lines = files.reduce((sum, file) => sum + changedLines(file), 0)
  console.log(`${patches.length} patches, ${files.length} upstream files, ${lines} changed lines: in order`)
})
