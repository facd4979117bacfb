// Makes the page of `serve` of src/page, in dist/page: three files that need nothing else. `npm run build` runs it.

import { join } from 'node:path'
import { build } from 'esbuild'
import { layout } from './lib/layout.mjs'

const { root } = layout()

await build({
  absWorkingDir: join(root, 'src/page'),
  entryPoints: ['main.tsx', 'page.css', 'index.html'],
  outdir: join(root, 'dist/page'),
  loader: { '.html': 'copy' },
  target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'], // light-dark() and nesting as they are
  format: 'esm',
  bundle: true,
  minify: true,
})
