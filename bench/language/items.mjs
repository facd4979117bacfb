// Items of a length: as much filling as fits.

import { Random } from '../../dist/model-maker/index.js'
import { sentences } from './books.mjs'
import { promptOf } from './chat.mjs'
import { tasks } from './ruler.mjs'

/** Fewer tokens than the context by what an answer takes and what a chat adds around the question. */
const MARGIN = 64

/**
 * @param {{ tokenize: Function }} model
 * @param {{ chat: string, seed: number, essay: string }} options
 * @returns {import('./ruler.mjs').Item & { task: string, length: number, index: number, predict: number, tokens: number }}
 */
export function makeItem(model, { chat, seed, essay }, task, length, index) {
  const { name, predict, least, make } = tasks.find((one) => one.name === task)
  const lines = sentences(essay)
  const start = Math.floor(new Random(seed, `${task}/${index}/start`).uniform() * lines.length * 0.5)
  const draw = (size) =>
    make({ random: new Random(seed, `${task}/${index}`), size, essay: lines.slice(start, start + size) })
  const tokensOf = (item) => {
    const { text, asked } = promptOf(item, 'turn', chat)
    return model.tokenize(text + asked).length
  }
  const room = length - predict - MARGIN

  let [fits, tooMany] = [least, least * 2]
  while (tokensOf(draw(tooMany)) <= room) [fits, tooMany] = [tooMany, tooMany * 2]
  while (tooMany - fits > Math.max(1, fits / 200)) {
    const middle = Math.floor((fits + tooMany) / 2)
    if (tokensOf(draw(middle)) <= room) fits = middle
    else tooMany = middle
  }
  const item = draw(fits)
  return { ...item, task: name, length, index, predict, tokens: tokensOf(item) }
}
