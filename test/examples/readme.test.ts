/** The library example of the README is examples/ask.mjs, and answers. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runNode } from '../ts/support.js'

const root = new URL('../../', import.meta.url)

it('answers from a document that it reads once', async () => {
  const script = new URL('examples/ask.mjs', root)
  const readme = await readFile(new URL('README.md', root), 'utf8')
  expect(/```ts\n([\s\S]*?)```/.exec(readme)?.[1]).toBe(await readFile(script, 'utf8'))
  const folder = await mkdtemp(join(tmpdir(), 'h2o-readme-'))
  try {
    const filler = 'The grass is green. The sky is blue. Here we go. There and back again.\n'.repeat(70)
    const key = '\n\nQuestion: The pass key is\nAnswer: 48213.'.repeat(2)
    const file = join(folder, 'document.txt')
    await writeFile(file, `${filler}${key}${filler}`)
    const question = 'The pass key is'
    const model = fileURLToPath(new URL('model/recall-q8_0.gguf', root))
    const { code, stdout, stderr } = await runNode(
      [fileURLToPath(script), model, file, question, question],
      {},
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // the second one has not seen the first
    expect(stdout.split('\n').map((line) => line.slice(0, 6))).toEqual([' 48213', ' 48213', ''])
  } finally {
    await rm(folder, { recursive: true })
  }
})
