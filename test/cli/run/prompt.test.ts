import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { processEscapes } from '../../../src/ts/cli/flags/escapes.js'
import { readPrompt } from '../../../src/ts/cli/run/prompt.js'
import { readTextFile } from '../../../src/ts/cli/shell/text-file.js'
import { memoryIo } from '../support/memory-io.js'

const usage = (message: RegExp) =>
  expect.objectContaining({ code: 'ERR_CLI_USAGE', message: expect.stringMatching(message) })

describe('processEscapes', () => {
  it.each([
    ['plain', 'plain'],
    [String.raw`a\nb\tc\rd`, 'a\nb\tc\rd'],
    [String.raw`\\n \' \"`, String.raw`\n ' "`],
    [String.raw`\x41\xe2\x82\xac`, 'A€'],
    [String.raw`\xZZ \x4 \q`, String.raw`\xZZ \x4 \q`],
    ['ends in \\', 'ends in \\'],
    [String.raw`\x4`, String.raw`\x4`],
    ['é\\n', 'é\n'],
  ])('%j', (input, expected) => {
    expect(processEscapes(Buffer.from(input)).toString()).toBe(expected)
  })
})

describe('readPrompt', () => {
  let folder: string
  const warnings: string[] = []
  const read = (flags: { prompt?: string; file?: string; escape?: boolean }, stdin?: string | Buffer) =>
    readPrompt(
      { escape: true, ...flags },
      () => memoryIo({ stdin }).stdin,
      (w) => warnings.push(w),
    )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'h2o-prompt-'))
    await writeFile(join(folder, 'text'), 'line\\none\n\n')
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('takes -p as it is, apart from escapes', async () => {
    expect(await read({ prompt: 'a\\nb\n' })).toBe('a\nb\n')
    expect(await read({ prompt: 'a\\nb\n', escape: false })).toBe('a\\nb\n')
  })

  it('takes one newline off a file and off a pipe', async () => {
    expect(await read({ file: join(folder, 'text') })).toBe('line\none\n')
    expect(await read({ file: join(folder, 'text'), escape: false })).toBe('line\\none\n')
    expect(await read({ file: '-' }, 'piped\n')).toBe('piped')
    expect(await read({}, 'piped\n')).toBe('piped')
  })

  it('does not read stdin where it need not', async () => {
    expect(await read({ prompt: 'x' }, 'piped')).toBe('x')
  })

  it('never waits for a keyboard', async () => {
    await expect(read({})).rejects.toThrow(usage(/no prompt/))
    await expect(read({ file: '-' })).rejects.toThrow(usage(/terminal/))
  })

  it('refuses two prompts, none, and what cannot be read', async () => {
    await expect(read({ prompt: 'x', file: 'y' })).rejects.toThrow(usage(/both/))
    await expect(read({ prompt: '' })).rejects.toThrow(usage(/empty/))
    await expect(read({}, '\n')).rejects.toThrow(usage(/empty/))
    await expect(read({ file: join(folder, 'none') })).rejects.toThrow(usage(/no such file/))
    await expect(read({ file: folder })).rejects.toThrow(usage(/directory/))
  })

  it('reads no file and no pipe that has no end', async () => {
    await expect(read({ file: '/dev/zero' })).rejects.toThrow(usage(/more than 256 MiB/))
    await expect(readTextFile('/dev/zero', 'the text ')).rejects.toThrow(
      usage(/the text .* more than 256 MiB/),
    )
    async function* endless() {
      for (const part = Buffer.alloc(2 ** 24); ; ) yield part
    }
    await expect(readPrompt({ escape: true }, endless, () => {})).rejects.toThrow(usage(/more than/))
  })

  it('says so when bytes are not UTF-8', async () => {
    expect(await read({}, Buffer.from([0x61, 0xff, 0x62]))).toBe('a\ufffdb')
    expect(warnings.splice(0)).toEqual([expect.stringContaining('UTF-8')])
    expect(await read({ prompt: 'a\ufffdb' })).toBe('a\ufffdb')
    expect(warnings).toEqual([])
  })
})
