#!/usr/bin/env node
// npm run patches:check: patches, tree, budget and hook table agree. Makes vendor/llama.cpp if it is not there.

import { existsSync } from 'node:fs'
import { sums } from './lib/budget.mjs'
import { checkPatches } from './lib/check.mjs'
import { Failure, main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { vendor } from './lib/vendor.mjs'

await main(() => {
  const paths = layout()
  if (!existsSync(paths.tree)) vendor(paths, { say: (line) => console.error(line) })
  const { complaints, patches } = checkPatches(paths)
  if (complaints.length > 0) {
    throw new Failure(`patches/ is not in order:\n\n${complaints.map((line) => `- ${line}`).join('\n')}`)
  }
  const files = patches.flatMap((patch) => patch.files)
  const { all, rooms } = sums(patches)
  const each = [...rooms].map(([room, lines]) => `${room} ${lines}`).join(', ')
  console.log(
    `${patches.length} patches, ${files.length} upstream files, ${all} changed lines (${each}): in order`,
  )
})
