import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Journal } from '../../bench/language/journal.mjs'

const of = { sha256: 'a' }
const file = () => join(mkdtempSync(join(tmpdir(), 'h2o-journal-')), 'part/run.jsonl')

it('measures each key once, in this run or the one before', async () => {
  const path = file()
  const first = new Journal(path, of)
  expect(await first.once('x', () => 1)).toBe(1)
  expect(await first.once('x', () => 2)).toBe(1)
  expect(await new Journal(path, of).once('x', () => 3)).toBe(1)
})

it('loses the line that was being written, and nothing else', async () => {
  const path = file()
  const first = new Journal(path, of)
  await first.once('x', () => 1)
  appendFileSync(path, '{"key":"y","val')
  const second = new Journal(path, of)
  expect(await second.once('y', () => 2)).toBe(2)
  const third = new Journal(path, of)
  expect(await third.once('x', () => 0)).toBe(1)
  expect(await third.once('y', () => 0)).toBe(2)
})

it('keeps nothing of what failed', async () => {
  const path = file()
  const journal = new Journal(path, of)
  await expect(journal.once('x', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await journal.once('x', () => 1)).toBe(1)
})

it('is of one model', async () => {
  const path = file()
  await new Journal(path, of).once('x', () => 1)
  const before = readFileSync(path, 'utf8')
  expect(() => new Journal(path, { sha256: 'b' })).toThrow(path)
  expect(readFileSync(path, 'utf8')).toBe(before)
})
