// llama-perplexity's file of logits: its bytes against a float64 reference, files that are none, and what is left
// behind. That llama-perplexity writes and reads the same is shown in test/tools/perplexity.test.ts.
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { savedDeviation } from '../../../src/ts/cli/saved-logits/deviation.js'
import { SavedLogits } from '../../../src/ts/cli/saved-logits/reader.js'
import { LogitsWriter } from '../../../src/ts/cli/saved-logits/writer.js'
import { Random } from '../../../src/ts/model-maker/index.js'

const folder = mkdtempSync(join(tmpdir(), 'h2o-saved-'))
afterAll(() => rmSync(folder, { recursive: true }))

const head = { nCtx: 9, nVocab: 77, nWindows: 2 } // an odd vocabulary: its rows are padded
const FIRST = 4
const ROWS = 4
const random = new Random(1, 'logits')
const tokens = Int32Array.from({ length: 18 }, () => Math.floor(77 * random.uniform()))
/** Some are further than exp(16) from the likeliest, one has no chance at all, and one row is flat. */
const windows = [0, 1].map((window) => {
  const logits = Float32Array.from({ length: 9 * 77 }, () => 30 * random.uniform() - 5)
  logits[5 * 77 + 3] = Number.NEGATIVE_INFINITY
  if (window === 1) logits.fill(2, 6 * 77, 7 * 77)
  return logits
})

let nFiles = 0
async function written(): Promise<string> {
  const path = join(folder, `${nFiles++}.logits`)
  const writer = await LogitsWriter.open(path, head, tokens)
  for (const logits of windows) {
    await writer.add(0, 5, logits)
    await writer.add(5, 4, logits.subarray(5 * 77))
  }
  await writer.finish()
  return path
}

/** Natural logarithms of the probabilities, in float64. */
function logProbs(logits: Float32Array): number[] {
  const max = Math.max(...logits)
  const norm = max + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - max), 0))
  return Array.from(logits, (x) => x - norm)
}

const rowAt = (window: number, position: number) =>
  windows[window]?.subarray(position * 77, (position + 1) * 77) as Float32Array

describe('a file of saved logits', () => {
  it('holds the log probabilities to half a step, in the layout of llama-perplexity', async () => {
    const bytes = readFileSync(await written())
    expect(bytes.toString('latin1', 0, 8)).toBe('_logits_')
    expect([8, 12, 16].map((at) => bytes.readInt32LE(at))).toEqual([9, 77, 2])
    expect(Array.from(tokens, (_, i) => bytes.readInt32LE(20 + 4 * i))).toEqual([...tokens])
    const stride = 2 * (78 + 4)
    expect(bytes.length).toBe(20 + 4 * 18 + 2 * ROWS * stride)
    for (let i = 0; i < 2 * ROWS; i++) {
      const at = 20 + 4 * 18 + i * stride
      const [scale, min] = [bytes.readFloatLE(at), bytes.readFloatLE(at + 4)]
      const expected = logProbs(rowAt(Math.floor(i / ROWS), FIRST + (i % ROWS)))
      const least = Math.max(Math.max(...expected) - 16, Math.min(...expected))
      expect(min).toBeCloseTo(least, 5)
      expect(scale).toBeCloseTo((Math.max(...expected) - least) / 65535, 9)
      for (const [token, value] of expected.entries()) {
        const found = scale * bytes.readUInt16LE(at + 8 + 2 * token) + min
        expect(Math.abs(found - Math.max(value, least))).toBeLessThan(0.5001 * scale + 2e-6)
      }
      expect(bytes.readUInt16LE(at + 8 + 2 * 77)).toBe(0)
    }
  })

  it('is read as it was written, and holds its own logits to be the same', async () => {
    const saved = await SavedLogits.open(await written())
    expect(saved.head).toEqual(head)
    expect(saved.tokens).toEqual(tokens)
    for (const window of [1, 0]) {
      const rows = await saved.rows(window, 5, 8)
      for (const [i, row] of rows.entries()) {
        const logits = rowAt(window, 5 + i)
        const found = savedDeviation(row, logits, 0, 77, 7)
        expect(found).toMatchObject({
          identical: true,
          nll: expect.closeTo(-(logProbs(logits)[7] as number), 5),
        })
        expect(Math.abs(found.kld)).toBeLessThan(1e-4) // a fraction of a step
      }
    }
    await saved.dispose()
  })

  it('is the base of a KL divergence, as float64 has it', async () => {
    const saved = await SavedLogits.open(await written())
    const [row] = await saved.rows(0, 4, 5)
    const [base, other] = [logProbs(rowAt(0, 4)), logProbs(rowAt(1, 4))]
    const expected = base.reduce(
      (sum, p, i) => sum + (p > -16 ? Math.exp(p) * (p - (other[i] as number)) : 0),
      0,
    )
    const found = savedDeviation(row as never, rowAt(1, 4), 0, 77, 7)
    expect(found).toMatchObject({ identical: false, kld: expect.closeTo(expected, 3) })
    await saved.dispose()
  })

  const code = 'ERR_H2O_LOGITS_FILE'
  const number = (value: number, at: number) => (bytes: Buffer) => {
    bytes.writeInt32LE(value, at)
    return bytes
  }
  const damages: [string, (bytes: Buffer) => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['of another kind', (bytes) => Buffer.concat([Buffer.from('GGUF'), bytes.subarray(4)])],
    ['cut off', (bytes) => bytes.subarray(0, -2)],
    ['longer than it says', (bytes) => Buffer.concat([bytes, Buffer.alloc(2)])],
    ['without a window', number(0, 16)],
    ['of a negative vocabulary', number(-77, 12)],
    ['with a token that there is not', number(77, 20)],
  ]
  it.each(damages)('%s is refused', async (_, damage) => {
    const path = join(folder, 'damaged')
    writeFileSync(path, damage(readFileSync(await written())))
    await expect(SavedLogits.open(path)).rejects.toMatchObject({ code })
  })

  it.each([join(folder, 'nothing'), folder])('%s is refused', async (path) => {
    await expect(SavedLogits.open(path)).rejects.toMatchObject({ code })
  })

  it('with a row that is none is refused when the row is read', async () => {
    const path = await written()
    const bytes = readFileSync(path)
    bytes.writeFloatLE(Number.NaN, 20 + 4 * 18)
    writeFileSync(path, bytes)
    const saved = await SavedLogits.open(path)
    await expect(saved.rows(0, 4, 5)).rejects.toMatchObject({ code })
    await saved.dispose()
  })

  it.skipIf(process.platform === 'win32')(
    'is no device and no pipe, and nothing is written through a link',
    async () => {
      const pipe = join(folder, 'pipe')
      execFileSync('mkfifo', [pipe])
      for (const path of [pipe, '/dev/null']) {
        await expect(LogitsWriter.open(path, head, tokens)).rejects.toMatchObject({ code })
        await expect(SavedLogits.open(path)).rejects.toMatchObject({ code })
        expect(statSync(path).isFile()).toBe(false)
      }
      const [path, target] = [join(folder, 'linked'), join(folder, 'target')]
      writeFileSync(target, 'mine')
      symlinkSync(target, `${path}.part`)
      await (await LogitsWriter.open(path, head, tokens)).dispose()
      expect(readFileSync(target, 'utf8')).toBe('mine')
    },
  )

  it('is not there before it is whole, and never with what it cannot hold', async () => {
    const path = join(folder, 'never')
    const writer = await LogitsWriter.open(path, head, tokens)
    await writer.add(0, 5, windows[0] as Float32Array)
    await expect(writer.add(5, 1, new Float32Array(77).fill(Number.NaN))).rejects.toThrow('not finite')
    await writer.dispose()
    expect(readdirSync(folder).filter((name) => name.startsWith('never'))).toEqual([])
    for (const nowhere of [join(folder, 'no/where'), ''])
      await expect(LogitsWriter.open(nowhere, head, tokens)).rejects.toMatchObject({ code })
  })

  it('leaves no part of itself where it gets no name, or the disk is full', async () => {
    const path = join(folder, 'full')
    const writer = await LogitsWriter.open(path, head, tokens)
    mkdirSync(join(path, 'taken'), { recursive: true })
    await expect(writer.finish()).rejects.toMatchObject({ code })
    await writer.dispose()

    const file = await open(join(folder, 'empty'), 'w')
    const write = vi.spyOn(Object.getPrototypeOf(file), 'write')
    write.mockRejectedValueOnce(Object.assign(new Error(), { code: 'ENOSPC' }))
    await file.close()
    const message = `${path}1: it cannot be written (ENOSPC)`
    await expect(LogitsWriter.open(`${path}1`, head, tokens)).rejects.toMatchObject({ code, message })
    write.mockRestore()
    expect(readdirSync(folder).filter((name) => name.startsWith('full'))).toEqual(['full'])
  })
})
