import { describe, expect, it } from 'vitest'
import { plainPython, python } from './python.js'

interface Sample {
  text: string
  ids: number[]
  length: number
  labels: string[]
}

const families = ['passkey', 'needle', 'pairs', 'records', 'variables', 'copy', 'story', 'table', 'code']

function samples(...args: string[]): Sample[] {
  const lines = python('sample.py', '--json', ...args).trimEnd()
  return lines.split('\n').map((line) => JSON.parse(line) as Sample)
}

describe.skipIf(!plainPython)('generated documents', () => {
  it('have exactly the length asked for, whatever it is', () => {
    for (const length of [64, 257, 8193]) {
      for (const sample of samples('--length', `${length}`, '--count', '20')) {
        expect(sample.length).toBe(length)
        expect(sample.labels.length).toBe(length)
      }
    }
  })

  it('repeat with their seed', () => {
    expect(samples('--seed', '5')).toEqual(samples('--seed', '5'))
    expect(samples('--seed', '5')).not.toEqual(samples('--seed', '6'))
  })

  it.each(families)('ask for something in every family: %s', (family) => {
    const labels = samples('--families', family, '--length', '600').flatMap((sample) => sample.labels)
    const answers = new Set(labels.filter((label) => label !== 'text'))
    expect([...answers].every((label) => label.startsWith(family))).toBe(true)
    expect(answers).toContain(family)
  })

  it('state a fact before they ask for it', () => {
    for (const { text } of samples('--families', 'records', '--length', '800', '--count', '10')) {
      const asked = [...text.matchAll(/^\? ([\w ]+): (\w+)$/gm)]
      expect(asked.length).toBeGreaterThan(0)
      for (const { 1: key, 2: value, index } of asked) {
        const stated = text.indexOf(`- ${key}: ${value}\n`)
        expect(stated, `${key}: ${value}`).toBeGreaterThan(-1)
        expect(stated).toBeLessThan(index as number)
      }
    }
  })

  it('track variables to the value at the end of the chain', () => {
    for (const { text } of samples('--families', 'variables', '--length', '800', '--count', '10')) {
      const bound = new Map([...text.matchAll(/^let (\w+) (\w+)$/gm)].map((m) => [m[1] as string, m[2]]))
      for (const [, name, value] of text.matchAll(/^print (\w+) (\w+)$/gm)) {
        let found = bound.get(name as string)
        while (found !== undefined && bound.has(found)) found = bound.get(found)
        expect(found).toBe(value)
      }
    }
  })
})

const windows = `
import json
from array import array
from random import Random
from corpus import Texts
from filler import Filler
from tokenizer import Tokenizer
# texts of 40, 100 and 15 tokens, each of one token
ids = array("H", [1] * 40 + [2] * 100 + [3] * 15)
filler = Filler(Tokenizer.load(), Texts(ids, [0, 40, 140]))
rng = Random(1)
for size in (10, 60, 120):
    print(json.dumps([filler.window(rng, size) for _ in range(200)]))
`

describe.skipIf(!plainPython)('windows of English', () => {
  const [short, middle, long] = plainPython
    ? python('-c', windows)
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as number[][])
    : []

  it('have their length and come from every text', () => {
    for (const [size, some] of [
      [10, short],
      [60, middle],
      [120, long],
    ] as const) {
      expect(some?.every((window) => window.length === size)).toBe(true)
    }
    expect(new Set(short?.flat())).toEqual(new Set([1, 2, 3]))
  })

  it('stay in one text where it is long enough', () => {
    expect(short?.every((window) => new Set(window).size === 1)).toBe(true)
    expect(middle?.some((window) => new Set(window).size === 1)).toBe(true)
  })

  it('else begin where a text does and go on into the next', () => {
    for (const window of [...(middle ?? []), ...(long ?? [])].filter(([first]) => first === 1)) {
      expect(window.lastIndexOf(1)).toBe(39)
      expect(new Set(window.slice(40))).toEqual(new Set([2]))
    }
    expect(long?.every(([first]) => first === 1)).toBe(true)
  })
})
