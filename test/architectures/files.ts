// The models of the table as files: stock llama.cpp's loaders say which tensors they have.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { ggufHead } from '../../src/ts/model-maker/gguf.js'
import { runStock } from '../parity/stock.js'
import { tinyMetadata } from './metadata.js'
import type { Row } from './plain.js'

const folder = mkdtempSync(join(tmpdir(), 'h2o-architectures-'))
let nFiles = 0

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Writes the tiny model of a row, all weights random and F32, and returns its path. */
export async function architectureFile({ arch, own, gain }: Row): Promise<string> {
  const path = join(folder, `${nFiles++}-${arch}.gguf`)
  const head = `${path}.head`
  writeFileSync(head, ggufHead(tinyMetadata(arch, own), []))
  await runStock('stock-fill', [head, path, ...(gain === undefined ? [] : [String(gain)])])
  return path
}
