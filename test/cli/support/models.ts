// Tiny models and texts for end-to-end tests, in a folder of their own that goes when the tests end.
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { demoText, writeModel } from '../../../src/ts/model-maker/index.js'

export interface Fixtures {
  folder: string
  /** llama, F32, 2 layers, context 32768, one token per byte and no BOS */
  model: string
  /** larger, so that a prefill takes a while */
  slowModel: string
  /** with ALiBi, which H2O does not serve */
  refused: string
  /** six layers, of which the last attends to all positions and the others to a window */
  windows: string
  notAModel: string
  truncated: string
  /** A file of exactly n tokens. */
  text(n: number): Promise<string>
  remove(): Promise<void>
}

export async function makeFixtures(): Promise<Fixtures> {
  const folder = await mkdtemp(join(tmpdir(), 'h2o-cli-'))
  const at = (name: string) => join(folder, name)
  const fixtures: Fixtures = {
    folder,
    model: at('tiny.gguf'),
    slowModel: at('slow.gguf'),
    refused: at('mpt.gguf'),
    windows: at('gemma3.gguf'),
    notAModel: at('not-a-model.gguf'),
    truncated: at('truncated.gguf'),
    async text(n) {
      const file = at(`${n}.txt`)
      await writeFile(file, demoText(n))
      return file
    },
    remove: () => rm(folder, { recursive: true }),
  }
  await writeModel(fixtures.model, { arch: 'llama', hidden: 64, heads: 4 })
  await writeModel(fixtures.slowModel, { arch: 'llama', layers: 8, hidden: 128 })
  await writeModel(fixtures.refused, { arch: 'mpt' })
  await writeModel(fixtures.windows, { arch: 'gemma3', layers: 6 })
  await writeFile(fixtures.notAModel, 'this is a text and no model\n'.repeat(100))
  await writeModel(fixtures.truncated, { arch: 'llama', hidden: 64, heads: 4 })
  const file = await open(fixtures.truncated, 'r+')
  await file.truncate(Math.floor((await file.stat()).size / 2))
  await file.close()
  return fixtures
}
