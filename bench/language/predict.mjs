// Perplexity and divergence of windows of texts, one window at a time.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'
import { windowsOf } from '../quality/by-context.mjs'
import { compareSettings } from '../quality/compare.mjs'
import { temporaryFolder } from '../temporary.mjs'
import { makeInside } from './inside.mjs'

/** The first positions see everything, whatever S is. */
export const SKIP = 1024

/** What windows are of: books; C++ of llama.cpp's own; records of tables, and questions about them. */
export const kinds = ['prose', 'code', 'tables']

const SOURCES = join(PROJECT_ROOT, 'vendor/llama.cpp/src')
const TABLES = ['json', 'csv']

/**
 * Windows that lie in one text each, of all sources of a kind in turn.
 *
 * @param {{ kind: string, library: import('./books.mjs').Book[], seed: number, length: number, most: number }} options
 * @returns {{ text: string }[]}
 */
export function windows(model, { kind, library, seed, length, most }) {
  if (kind === 'tables')
    return Array.from({ length: most }, (_, i) => {
      const task = TABLES[i % TABLES.length]
      const { ids } = makeInside(model, { seed, essay: '' }, task, length, 1000 + i)
      return { text: model.detokenize(ids.slice(1)) }
    })
  const sources = kind === 'code' ? sourceFiles() : library.map(({ texts }) => texts)
  const bySource = sources.map((texts) =>
    texts.flatMap((text) =>
      windowsOf(model.tokenize(text, { addSpecial: false }), length).map((ids) => ({
        text: model.detokenize(ids),
      })),
    ),
  )
  const longest = Math.max(...bySource.map((some) => some.length))
  return Array.from({ length: longest }, (_, i) => bySource.flatMap((some) => some.slice(i, i + 1)))
    .flat()
    .slice(0, most)
}

/** Of llama.cpp as it is published: none is patched. */
function sourceFiles() {
  return ['sampler', 'model-loader', 'quant', 'memory-recurrent', 'chat'].map((name) => [
    readFileSync(join(SOURCES, `llama-${name}.cpp`), 'utf8'),
  ])
}

export async function predict(settings, text, { file: model, length, threads }, say) {
  const folder = temporaryFolder('language')
  try {
    const file = join(folder.path, 'text')
    writeFileSync(file, text)
    // a tokenizer may need a few tokens more or fewer for the same text, cut elsewhere
    return await compareSettings(
      settings,
      { model, file, length: length - 32, windows: 1, skip: SKIP, threads },
      say,
    )
  } finally {
    folder.remove()
  }
}
