// What `parity` says of a program that is no stock-logits.
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type StockOptions, stockReference } from '../../../src/ts/cli/parity/stock.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'h2o-parity-'))
})
afterAll(() => rm(folder, { recursive: true }))

const sizes = { nVocab: 3, nCtx: 4, nBatch: 4, nUbatch: 4, nThreads: 1, first: 2 }
const flags = { nGpuLayers: undefined, flashAttn: 'auto', typeK: 'f16', typeV: 'f16' } as const

async function program(code: string): Promise<string> {
  const path = join(folder, `program-${(await readdir(folder)).length}`)
  await writeFile(path, `#!/bin/sh\n${code}\n`)
  await chmod(path, 0o755)
  return path
}

async function begin(path: string): Promise<unknown> {
  const options: StockOptions = { ...sizes, ...flags, program: path, model: 'model.gguf' }
  const reference = await stockReference(options)
  const began = reference.begin(0, Int32Array.of(1, 2, 3, 4), new AbortController().signal)
  return await began.catch((error) => error).finally(() => reference.dispose())
}

describe.skipIf(process.platform === 'win32')('--stock', () => {
  test('names what writes the logits that are asked for', async () => {
    expect(await begin(await program('head -c 24 /dev/zero > "$3"'))).toBeUndefined()
  })

  test.each([
    ['no logits', 'true', 'wrote no logits'],
    ['other logits', 'head -c 20 /dev/zero > "$3"', 'wrote 20 bytes of logits in place of 24'],
  ])('names what writes %s', async (_, code, message) => {
    const path = await program(code)
    expect(await begin(path)).toMatchObject({
      code: 'ERR_H2O_NO_BINARY',
      message: `${path} is not the stock-logits of this version: it ${message}`,
      hint: expect.stringContaining('npm run build:stock'),
    })
  })

  test('names no program', async () => {
    const path = join(folder, 'text')
    await writeFile(path, 'text')
    const expected = { code: 'ERR_H2O_NO_BINARY', message: `${path} cannot be run: EACCES` }
    expect(await begin(path)).toMatchObject(expected)
  })

  test.each([
    ['exit 3', ' ended with status 3'],
    ['echo one >&2; echo two >&2; exit 1', ' ended with status 1: two'],
    ['kill -9 $$', ' ended with SIGKILL'],
  ])('names what fails: %s', async (code, end) => {
    const path = await program(code)
    expect(await begin(path)).toMatchObject({ message: path + end })
  })

  test('says what stock-logits says', async () => {
    const path = await program('echo "stock-logits: cannot load model.gguf" >&2; exit 1')
    expect(await begin(path)).toMatchObject({ message: 'stock-logits: cannot load model.gguf' })
  })
})
