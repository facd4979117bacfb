// --prompt-cache on the real addon: what is read again, what is refused, and that nothing depends on the file.
import { execFileSync } from 'node:child_process'
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { main } from '../../../src/ts/cli/main.js'
import { writeModel } from '../../../src/ts/model-maker/index.js'
import { memoryIo } from '../support/memory-io.js'
import { type Fixtures, makeFixtures } from '../support/models.js'

let f: Fixtures
let nFiles = 0
beforeAll(async () => {
  f = await makeFixtures()
})
afterAll(() => f.remove())

const sizes = '-n 3 -b 192 -ub 64 -t 1 --h2o-local 16 --h2o-heavy 16 --temp 0 --ignore-eos --json'.split(' ')

async function cli(...argv: string[]) {
  const io = memoryIo({})
  const code = await main(argv, io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

async function ask(prompt: string, ...more: string[]) {
  const { code, out, err } = await cli('-m', f.model, '-p', prompt, ...sizes, ...more)
  expect(code, err).toBe(0)
  const { prompt_n, cache_n, path, text } = JSON.parse(out)
  return { prompt_n, cache_n, path, text }
}

const newFile = () => join(f.folder, `cache-${nFiles++}`)
const begin = Array.from({ length: 500 }, (_, i) => String.fromCharCode(97 + ((i * 7 + (i >> 3)) % 26))).join(
  '',
)

it('a prompt that begins in the same way reads the rest, and answers as without a cache', async () => {
  const cache = newFile()
  const first = await ask(`${begin} one`, '--prompt-cache', cache)
  expect(first).toMatchObject({ cache_n: 0, path: 'h2o' })
  for (const prompt of [
    `${begin} one`,
    `${begin} another, and a longer one`,
    begin,
    `${begin.slice(0, 300)}!`,
  ]) {
    const plain = await ask(prompt)
    const cached = await ask(prompt, '--prompt-cache', cache, '--prompt-cache-ro')
    expect(cached.cache_n % 64).toBe(0)
    expect(cached.cache_n).toBeGreaterThan(prompt.length - 200)
    expect(cached.prompt_n + cached.cache_n).toBe(plain.prompt_n)
    expect([cached.text, cached.path]).toEqual([plain.text, plain.path])
  }
  expect(await ask(`x${begin}`, '--prompt-cache', cache, '--prompt-cache-ro')).toMatchObject({ cache_n: 0 })
})

it('is written anew each time, with the generated text or without, and not if it is to be read alone', async () => {
  const cache = newFile()
  await ask(begin, '--prompt-cache', cache, '--prompt-cache-ro')
  await expect(stat(cache)).rejects.toMatchObject({ code: 'ENOENT' })

  await ask(begin, '--prompt-cache', cache)
  const { size } = await stat(cache)
  await ask(begin, '--prompt-cache', cache, '--prompt-cache-all')
  expect((await stat(cache)).size).toBeGreaterThan(size)
  const before = await readFile(cache)
  await ask(`${begin} more`, '--prompt-cache', cache, '--prompt-cache-ro')
  expect((await readFile(cache)).equals(before)).toBe(true)
  await ask(`${begin.slice(0, 200)}`, '--prompt-cache', cache)
  expect((await stat(cache)).size).toBeLessThan(size)
})

it('has the prompt where Ctrl-C ended the text, and nothing where it ended the prompt', async () => {
  const plain = await ask(`${begin} one`)
  for (const [stream, kept] of [
    ['stdout', plain.prompt_n],
    ['stderr', 0],
  ] as const) {
    const cache = newFile()
    const io = memoryIo({ tty: true })
    const write = io[stream].write.bind(io[stream])
    io[stream].write = (...args) => {
      io[stream].write = write
      process.emit('SIGINT') // a second one would kill
      return write(...args)
    }
    const flags = sizes.filter((flag) => flag !== '--json')
    const argv = ['-m', f.model, '-p', `${begin} one`, ...flags, '-n', '200', '--prompt-cache', cache]
    expect(await main(argv, io), io.stderr.text).toBe(130)
    const cached = await ask(`${begin} one`, '--prompt-cache', cache)
    expect(cached.cache_n).toBeGreaterThanOrEqual(kept && kept - 192)
    expect(cached.cache_n).toBeLessThanOrEqual(kept)
    expect(cached.text).toBe(plain.text)
  }
})

it.skipIf(process.platform === 'win32')('refuses a device and a pipe, at once', async () => {
  const pipe = newFile()
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, '/dev/null', f.folder]) {
    const { code, err } = await cli('-m', f.model, '-p', begin, ...sizes, '--prompt-cache', path)
    expect([code, err]).toEqual([2, expect.stringContaining('no regular file')])
    expect((await stat(path)).isFile()).toBe(false)
  }
})

it('an empty file is none yet', async () => {
  const cache = newFile()
  await writeFile(cache, '')
  expect((await ask(begin, '--prompt-cache', cache)).cache_n).toBe(0)
  expect((await ask(begin, '--prompt-cache', cache)).cache_n).toBeGreaterThan(0)
})

it('other settings of H2O read all of the prompt', async () => {
  const cache = newFile()
  await ask(begin, '--prompt-cache', cache)
  for (const more of [['--h2o-heavy', '17'], ['--no-h2o'], ['--h2o-select', 'votes'], ['-ub', '32']]) {
    const plain = await ask(begin, ...more)
    const cached = await ask(begin, ...more, '--prompt-cache', cache, '--prompt-cache-ro')
    expect(cached).toEqual(plain)
  }
})

it('sets that grow with the prompt are other settings than sets of as many positions', async () => {
  const [model, cache] = [newFile(), newFile()]
  await writeModel(model, { arch: 'llama', hidden: 64, heads: 4, kvHeads: 1 })
  const run = async (...more: string[]) => {
    const flags = '-n 1 -b 192 -ub 64 -t 1 --temp 0 --json'.split(' ')
    const { code, out, err } = await cli('-m', model, '-p', begin, ...flags, ...more)
    expect(code, err).toBe(0)
    return JSON.parse(out)
  }
  const grows = await run('--prompt-cache', cache)
  expect((await run('--prompt-cache', cache)).cache_n).toBeGreaterThan(0)
  const fixed = await run('--prompt-cache', cache, '--h2o-heavy', String(grows.h2o.heavy))
  expect([fixed.h2o.heavy, fixed.cache_n]).toEqual([grows.h2o.heavy, 0])
})

it('with stock attention whole calls are kept', async () => {
  const cache = newFile()
  const plain = await ask(`${begin} one`, '--no-h2o')
  await ask(`${begin} two`, '--no-h2o', '--prompt-cache', cache)
  const cached = await ask(`${begin} one`, '--no-h2o', '--prompt-cache', cache)
  expect(cached).toMatchObject({ cache_n: 384, path: 'dense', text: plain.text })
})

it('refuses the file of another model, one of other options, and a damaged one', async () => {
  const cache = newFile()
  await ask(begin, '--prompt-cache', cache)
  const refused = async (model: string, ...more: string[]) => {
    const { code, err } = await cli('-m', model, '-p', begin, ...sizes, '--prompt-cache', cache, ...more)
    const named = expect.stringMatching(
      `prompt cache ${cache}: .*\\[ERR_H2O_STATE_INVALID\\]\nh2o-prefill: hint: give`,
    )
    expect([code, err]).toEqual([1, named])
  }
  const bytes = await readFile(cache)
  await refused(f.slowModel)
  await refused(f.model, '-ctk', 'f32', '-ctv', 'f32')
  await refused(f.model, '--rope-freq-base', '20000')
  await refused(f.model, '--override-kv', 'a=int:1')
  await refused(f.model, '-c', '256')
  expect((await readFile(cache)).equals(bytes)).toBe(true)
  await truncate(cache, 1000)
  await refused(f.model)
  await writeFile(cache, 'no state')
  await refused(f.model)
})

it('a file that cannot be read or written is an error of usage, before anything is read', async () => {
  expect((await cli('-m', f.model, '-p', begin, ...sizes, '--prompt-cache', f.folder)).code).toBe(2)
  const paths = ['', join(f.folder, 'no', 'x'), ...(process.platform === 'linux' ? ['/proc/x'] : [])]
  for (const path of paths) {
    const { code, out, err } = await cli('-m', f.model, '-p', begin, ...sizes, '--prompt-cache', path)
    expect([code, out, err]).toEqual([
      2,
      '',
      expect.stringMatching(/^h2o-prefill: error: cannot write the prompt cache.*ENOENT\n$/),
    ])
  }
})
