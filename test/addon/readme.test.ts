/** The first library example of the README, as it stands there, but for the names of the model and of the package. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { runNode } from './support.js'

const root = new URL('../../', import.meta.url)

it('answers from a document that it reads once', async () => {
  const readme = await readFile(new URL('README.md', root), 'utf8')
  const example = /```ts\n([^`]*)```/.exec(readme)?.[1] as string
  const folder = await mkdtemp(join(tmpdir(), 'h2o-readme-'))
  try {
    const filler = 'The grass is green. The sky is blue. Here we go. There and back again.\n'.repeat(70)
    const key = (n: number) => `The pass key is ${n}. Remember it: the pass key is ${n}.\n`
    await writeFile(join(folder, 'document.txt'), `${filler}${key(48213)}${filler}`)
    const code = example
      .replace("'h2o-llama'", JSON.stringify(pathToFileURL('dist/index.js').href))
      .replace("'model.gguf'", JSON.stringify(join(process.cwd(), 'model/recall-q8_0.gguf')))
    await writeFile(join(folder, 'example.mjs'), code)
    const question = 'What is the pass key? The pass key is'
    const { code: rc, stdout, stderr } = await runNode(['example.mjs', question, question], { cwd: folder })
    expect({ rc, stderr }).toEqual({ rc: 0, stderr: '' })
    // the second one has not seen the first
    expect(stdout.split('\n').map((line) => line.slice(0, 6))).toEqual([' 48213', ' 48213', ''])
  } finally {
    await rm(folder, { recursive: true })
  }
})
