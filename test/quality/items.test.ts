// The items that the report asks: texts of model/eval_items.py, checked token by token.
import { describe, expect, it } from 'vitest'
import { plainPython, python } from '../model/python.js'

interface Item {
  task: string
  length: number
  ids: number[]
  asks: { question?: number[]; at?: number; answer: number[]; where: number }[]
}

const chunk = 512

function items(...args: string[]): Item[] {
  const lines = python('eval_items.py', '--chunk', `${chunk}`, ...args).trimEnd()
  return lines.split('\n').map((line) => JSON.parse(line) as Item)
}

const vocabulary = plainPython
  ? (JSON.parse(
      python(
        '-c',
        'import json, tokenizer; print(json.dumps([b.decode("latin-1") for b in tokenizer.Tokenizer.load().bytes]))',
      ),
    ) as string[])
  : []
const text = (ids: number[]) => ids.map((id) => vocabulary[id] ?? '').join('')

describe.skipIf(!plainPython)('evaluation items', () => {
  it('have the length that they say, with room for what is asked, and repeat with their seed', () => {
    const made = items('--lengths', '2048', '--contexts', '2')
    expect(new Set(made.map(({ task }) => task)).size).toBe(15)
    for (const { ids, asks, length } of made) {
      const longest = Math.max(...asks.map((ask) => (ask.question?.length ?? 0) + ask.answer.length))
      expect(ids.length + (asks[0]?.at === undefined ? longest : 0)).toBeLessThanOrEqual(length)
    }
    expect(items('--lengths', '2048', '--contexts', '2')).toEqual(made)
  })

  it('cut a key by a seam between its second and third digit', () => {
    for (const { task, ids, asks } of items(
      '--tasks',
      'passkey-seam,needle-seam',
      '--lengths',
      '2048',
      '--contexts',
      '4',
    )) {
      const answer = text(asks[0]?.answer as number[])
      expect(answer).toMatch(/^\d+$/)
      const seams = [chunk, 2 * chunk, 3 * chunk].filter(
        (seam) => text(ids.slice(seam - 2, seam)) === answer.slice(0, 2),
      )
      expect(
        seams.some((seam) => text(ids.slice(seam, seam + answer.length - 2)) === answer.slice(2)),
        task,
      ).toBe(true)
    }
  })

  it('have distractors that share a word with the key that is asked for', () => {
    for (const { ids, asks } of items('--tasks', 'records-near', '--lengths', '2048', '--contexts', '2')) {
      const context = text(ids)
      for (const { question, answer } of asks) {
        const [, adjective, noun] = /^\? (\w+) (\w+):$/.exec(text(question as number[])) ?? []
        const records = [...context.matchAll(/^- (\w+) (\w+): (\w+)$/gm)].map((m) => m.slice(1))
        const asked = records.filter(([a, n]) => a === adjective && n === noun)
        expect(asked.map(([, , value]) => ` ${value}`)).toEqual([text(answer)])
        expect(records.filter(([a, n]) => a === adjective && n !== noun).length).toBeGreaterThanOrEqual(2)
        expect(records.filter(([a, n]) => a !== adjective && n === noun).length).toBeGreaterThanOrEqual(2)
      }
    }
  })

  it('state the hops of a chain in different chunks, before the one that they are asked from', () => {
    for (const { ids, asks } of items('--tasks', 'variables-2', '--lengths', '2200', '--contexts', '2')) {
      for (const { question, answer } of asks) {
        const name = text(question as number[]).split(' ')[1]
        // a statement begins with a token of its own
        const at = (pattern: RegExp) => {
          const [chunkOf] = [0, 1, 2, 3].filter((c) =>
            pattern.test(`\n${text(ids.slice(c * chunk, (c + 1) * chunk))}`),
          )
          return chunkOf as number
        }
        const last = at(new RegExp(`\\nlet ${name} \\w+\\n`))
        const between = new RegExp(`^let ${name} (\\w+)$`, 'm').exec(text(ids))?.[1]
        const first = at(new RegExp(`\\nlet ${between}${text(answer)}\\n`))
        expect(first).toBeLessThan(last)
      }
    }
  })

  it('ask in the middle of later chunks', () => {
    for (const { ids, asks } of items('--tasks', 'records-inside', '--lengths', '2048', '--contexts', '3')) {
      expect(asks.length).toBe(6)
      for (const { at, answer, where } of asks) {
        const from = at as number
        expect(ids.slice(from, from + answer.length)).toEqual(answer)
        expect((from % chunk) / chunk).toBeGreaterThan(0.25)
        expect((from % chunk) / chunk).toBeLessThan(0.8)
        expect(where).toBeGreaterThanOrEqual(1)
        const key = /\? ([\w ]+):$/.exec(text(ids.slice(from - 12, from)))?.[1]
        const begin = (Math.floor(from / chunk) - where) * chunk
        expect(text(ids.slice(begin, begin + chunk + 16))).toContain(`- ${key}:${text(answer)}\n`)
      }
    }
  })

  it('take their filler from a text that is given', () => {
    const made = items('--text', 'README.md', '--tasks', 'passkey', '--lengths', '1024', '--contexts', '3')
    const texts = made.map(({ ids }) => text(ids)).join('')
    expect(texts).toMatch(/llama\.cpp|tokens|model/)
  })
})
