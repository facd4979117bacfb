// Seeded draws: equal seeds give equal recipes, whatever else has been drawn before.

import { Random } from '../../dist/model-maker/index.js'

export class Draw {
  #random

  constructor(kind, seed) {
    this.#random = new Random(seed, kind)
  }

  chance(probability) {
    return this.#random.uniform() < probability
  }

  /** An integer in [min, max]. */
  int(min, max) {
    return min + Math.floor(this.#random.uniform() * (max - min + 1))
  }

  pick(items) {
    return items[this.int(0, items.length - 1)]
  }

  /** One of the values, by its weight: { name: [weight, value] } without the names. */
  weighted(pairs) {
    let at = this.#random.uniform() * pairs.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, value] of pairs) {
      at -= weight
      if (at < 0) return value
    }
    return pairs.at(-1)[1]
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
