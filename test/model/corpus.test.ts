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
