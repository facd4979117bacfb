// Draws of a recipe. Those by fast-check are made again with smaller numbers where a mutant is a finding, so a recipe is
// made of integers alone, and the plain case has the lowest.

import fc from 'fast-check'
import { Random } from '../../dist/model-maker/index.js'

export class Draw {
  #int

  constructor(int) {
    this.#int = int
  }

  /** By the generator of `fc.gen()`. */
  static by(gen) {
    return new Draw((min, max) => gen(fc.integer, { min, max }))
  }

  /** Equal seeds give equal draws, whatever else has been drawn before. */
  static seeded(name, seed) {
    const random = new Random(seed, name)
    return new Draw((min, max) => min + Math.floor(random.uniform() * (max - min + 1)))
  }

  chance(probability) {
    return this.int(0, 9999) >= 10000 * (1 - probability)
  }

  /** An integer in [min, max]. */
  int(min, max) {
    return this.#int(min, max)
  }

  pick(items) {
    return items[this.int(0, items.length - 1)]
  }

  /** One of the values, by its weight: [weight, value]. */
  weighted(pairs) {
    return this.pick(pairs.flatMap(([weight, value]) => Array(weight).fill(value)))
  }

  list(length, item) {
    return Array.from({ length }, (_, i) => item(i))
  }
}

const EDGES = [
  0,
  1,
  2,
  3,
  7,
  8,
  31,
  255,
  256,
  1000,
  65535,
  1e6,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 2,
  2 ** 32 - 1,
]

/** A number near a limit, or near what was there. */
export function oddNumber(draw, was = 1) {
  return draw.weighted([
    [5, draw.pick(EDGES)],
    [3, Math.max(0, Math.trunc(was) + draw.pick([-2, -1, 1, 2]))],
    [2, Math.trunc(was * draw.pick([2, 3, 10]))],
    [2, Math.trunc(was / draw.pick([2, 3, 4]))],
    [1, draw.int(0, 2 ** 32 - 1)],
  ])
}

/** As JSON has neither NaN nor infinities, those are words. */
export function oddFloat(draw) {
  return draw.pick([0, -1, 1, 1e-30, 1e30, -1e-9, 0.5, 10000, 'NaN', 'Infinity', '-Infinity'])
}
