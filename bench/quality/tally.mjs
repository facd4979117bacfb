// Right answers counted, and the shares that they come to.

import { wilson } from './interval.mjs'

/** Where statements are looked up by depth, they are near one of these. */
export const DEPTHS = [0.05, 0.25, 0.5, 0.75, 0.95]

/**
 * @typedef {{ setting: string, task: string, length: number, ask: 'prompt' | 'behind' | 'inside', where: number, right: boolean }} Row
 */

/**
 * The part of a cell that an item belongs to: the nearest depth, or the number of chunks between.
 *
 * @param {{ ask: string, where: number }} row
 */
export function partOf({ ask, where }) {
  if (ask === 'inside') return where
  return DEPTHS.reduce((best, depth) => (Math.abs(depth - where) < Math.abs(best - where) ? depth : best))
}

/** @typedef {{ n: number, right: number, low: number, high: number }} Share */

export class Tally {
  #cells = new Map()

  /** @param {Row} row */
  add(row) {
    const { setting, task, length, ask, right } = row
    const key = JSON.stringify([setting, task, length, ask])
    const cell = this.#cells.get(key) ?? { setting, task, length, ask, n: 0, right: 0, parts: {} }
    this.#cells.set(key, cell)
    const part = cell.parts[partOf(row)] ?? { n: 0, right: 0 }
    cell.parts[partOf(row)] = part
    for (const counted of [cell, part]) {
      counted.n++
      if (right) counted.right++
    }
  }

  /**
   * With 95 % intervals, by part in ascending order.
   *
   * @returns {(Share & { setting: string, task: string, length: number, ask: string, parts: (Share & { where: number })[] })[]}
   */
  cells() {
    return [...this.#cells.values()].map(({ parts, ...cell }) => ({
      ...cell,
      ...wilson(cell.right, cell.n),
      parts: Object.entries(parts)
        .map(([where, { n, right }]) => ({ where: Number(where), n, right, ...wilson(right, n) }))
        .sort((a, b) => a.where - b.where),
    }))
  }
}
