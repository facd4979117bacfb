// Perplexity and divergence of windows of the books, one window at a time.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { windowsOf } from '../quality/by-context.mjs'
import { compareSettings } from '../quality/compare.mjs'

/** The first positions see everything, whatever S is. */
const SKIP = 1024

/** Windows that lie in one text each, of all books in turn. @returns {{ book: string, text: string }[]} */
export function windows(model, books, length, most) {
  const byBook = books.map(({ name, texts }) =>
    texts.flatMap((text) =>
      windowsOf(model.tokenize(text, { addSpecial: false }), length).map((ids) => ({
        book: name,
        text: model.detokenize(ids),
      })),
    ),
  )
  const longest = Math.max(...byBook.map((some) => some.length))
  return Array.from({ length: longest }, (_, i) => byBook.flatMap((some) => some.slice(i, i + 1)))
    .flat()
    .slice(0, most)
}

export async function predict(settings, { text }, { file: model, length, threads }, say) {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-language-'))
  try {
    const file = join(folder, 'text')
    writeFileSync(file, text)
    // a tokenizer may need a few tokens more or fewer for the same text, cut elsewhere
    return await compareSettings(
      settings,
      { model, file, length: length - 32, windows: 1, skip: SKIP, threads },
      say,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
