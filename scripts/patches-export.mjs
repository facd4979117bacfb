#!/usr/bin/env node
// npm run patches:export [-- --add FILE=ROOM/NAME.patch ...]: edits in vendor/llama.cpp become patches.

import { parseArgs } from 'node:util'
import { exportPatches } from './lib/export.mjs'
import { Failure, main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'

const HELP = `usage: npm run patches:export [-- --add FILE=ROOM/NAME.patch ...]

  --add FILE=ROOM/NAME.patch   patches/ROOM/NAME.patch owns the upstream file FILE from now on; a new patch is put last
                               in the series
`

await main(() => {
  const { values } = parseArgs({
    options: {
      add: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const add = values.add.map((entry) => {
    const at = entry.lastIndexOf('=')
    if (at <= 0) throw new Failure(`--add ${entry}: write FILE=ROOM/NAME.patch.`)
    return { path: entry.slice(0, at), name: entry.slice(at + 1) }
  })

  const { written, created, empty } = exportPatches(layout(), { add })
  for (const name of written) console.log(`${created.includes(name) ? 'new    ' : 'changed'} patches/${name}`)
  if (written.length === 0) console.log('nothing to export: the patches say what the tree holds')
  for (const name of created)
    console.log(`patches/${name}: write its header (Subject, and why it must exist)`)
  for (const name of empty)
    console.log(`patches/${name} changes nothing any more: delete it and its line in the series`)
})
