#!/usr/bin/env node
// node test/fuzz/native/seeds.mjs FOLDER: files for fuzz-model-check to begin with. Heads of every model, and of the
// mutants of models that once broke something.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fuzzModel, mutated } from '../gguf-file.mjs'
import { modelNamed, modelNames } from '../models.mjs'

const folder = process.argv[2]
mkdirSync(folder, { recursive: true })

const corpus = JSON.parse(readFileSync(new URL('../corpus.json', import.meta.url), 'utf8'))
const recipes = [
  ...modelNames.map((model) => ({ model, edits: [] })),
  ...corpus.filter(({ kind }) => kind === 'gguf'),
]
recipes.forEach(({ model, edits }, i) => {
  const base = { ...fuzzModel(modelNamed(model)), data: Buffer.alloc(0) }
  writeFileSync(join(folder, `${i}-${model}.gguf`), mutated(base, edits))
})
