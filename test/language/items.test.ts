// Items of bench/language: what they ask is in their text, and they are as long as they should be.

import { describe, expect, it } from 'vitest'
import { sentences } from '../../bench/language/books.mjs'
import { places, promptOf } from '../../bench/language/chat.mjs'
import { insideTasks, makeInside } from '../../bench/language/inside.mjs'
import { makeItem } from '../../bench/language/items.mjs'
import { tasks } from '../../bench/language/ruler.mjs'

// a token per word or mark, and long words are several
const model = { tokenize: (text: string) => text.match(/\w{1,6}|[^\w\s]/g) ?? [] }
const words = 'the whale and a ship went over under round old grey sea until night fell upon them all'.split(
  ' ',
)
const essay = Array.from({ length: 6000 }, (_, i) =>
  Array.from({ length: 8 + (i % 5) }, (_, j) => words[(i * 7 + j * j + i * j) % words.length]).join(' '),
).join('. ')

const item = (task: string, index = 0, seed = 1) =>
  makeItem(model, { chat: 'chatml', seed, essay }, task, 4096, index)

describe.each(tasks.map(({ name }) => name))('%s', (task) => {
  it('fills its length and holds its answers', () => {
    const made = item(task)
    expect(made.tokens).toBeLessThanOrEqual(4096 - made.predict)
    expect(made.tokens).toBeGreaterThan(0.9 * 4096)
    for (const answer of made.answers) expect(made.document).toContain(answer)
    expect(new Set(made.answers).size).toBe(made.answers.length)
  })

  it('is the same for a seed, and another for another', () => {
    expect(item(task)).toEqual(item(task))
    expect(item(task, 1).answers).not.toEqual(item(task).answers)
    expect(item(task, 0, 2).answers).not.toEqual(item(task).answers)
  })

  it('does not give its answers away', () => {
    const { question, prefix, answers } = item(task)
    for (const answer of answers) expect(question + prefix).not.toContain(answer)
  })
})

it('has as many values and questions as the name says', () => {
  const lines = (task: string) =>
    sentences(item(task).document.replaceAll('\n', ' ')).filter((line: string) =>
      line.includes('special magic'),
    )
  expect(lines('niah-single-2')).toHaveLength(1)
  expect(lines('niah-multikey-1')).toHaveLength(4)
  expect(lines('niah-multivalue')).toHaveLength(4)
  expect(item('niah-multiquery').answers).toHaveLength(4)
  expect(lines('niah-multikey-2').length).toBeGreaterThan(100)
})

it('puts the question where it should be', () => {
  const made = item('niah-single-1')
  for (const place of places) {
    const { text, asked } = promptOf(made, place, 'chatml')
    const whole = text + asked
    const document = whole.indexOf(made.document)
    expect(document).toBeGreaterThan(0)
    expect(whole.lastIndexOf(made.question)).toBeGreaterThan(document)
    expect(whole.indexOf(made.question) < document).toBe(place === 'before')
    expect(asked.includes(made.question)).toBe(place === 'turn')
    expect(whole.endsWith(made.prefix)).toBe(true)
  }
})

describe.each(insideTasks.map(({ name }) => name))('inside of a prompt: %s', (task) => {
  // a token per character
  const letters = { tokenize: (text: string) => [...text].map((letter) => letter.charCodeAt(0)) }
  const make = (seed = 1) => makeInside(letters, { seed, essay }, task, 16384, 0)
  const text = (ids: readonly number[]) => String.fromCharCode(...ids)

  it('asks for what stands far before the question, and nowhere else', () => {
    const { ids, asks } = make()
    expect(ids.length).toBeLessThanOrEqual(16384)
    expect(asks.length).toBeGreaterThan(20)
    for (const { at, answer, text: asked } of asks) {
      expect(text(ids.slice(at, at + answer.length))).toBe(text(answer))
      expect(asked.endsWith(text(answer))).toBe(true)
      const before = text(ids.slice(0, at - 1100))
      expect(before).toContain(text(answer).trim())
      expect(at).toBeGreaterThan(0.4 * 16384)
    }
    expect(new Set(asks.map(({ text: asked }) => asked)).size).toBe(asks.length)
  })

  it('is the same for a seed, and another for another', () => {
    expect(make()).toEqual(make())
    expect(make(2).ids).not.toEqual(make().ids)
  })
})
