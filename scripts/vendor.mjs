#!/usr/bin/env node
// npm run vendor [-- --from PATH] [--force] [--stock]: makes vendor/llama.cpp (pinned upstream plus patches/series).

import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { vendor, vendorStock } from './lib/vendor.mjs'

const HELP = `usage: npm run vendor [-- options]

  --from PATH   take upstream from a llama.cpp checkout, a git bundle or the npm .tgz instead of the registry
  --force       drop edits in vendor/llama.cpp that are in no patch (a copy is left in vendor/.cache)
  --stock       make vendor/llama.cpp-stock instead: the same upstream without our patches, for parity tests
`

await main(() => {
  const { values } = parseArgs({
    options: {
      from: { type: 'string' },
      force: { type: 'boolean', default: false },
      stock: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)

  const paths = layout()
  const say = (line) => console.error(line)
  const { from, force } = values
  const { done, files } = (values.stock ? vendorStock : vendor)(paths, { from, force, say })
  const name = relative(paths.root, values.stock ? paths.stockTree : paths.tree)
  if (done === 'nothing') say(`${name} is up to date`)
  else say(`${name} ${done}, ${files.length} patched file${files.length === 1 ? '' : 's'} written`)
})
