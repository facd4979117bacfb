/** How positions are rotated, where it should be otherwise than the model says; names and meanings are llama.cpp's. */

import { namesOf, readOptions } from './read-options.js'
import { integer, number, oneOf } from './validate.js'

export interface RopeOptions {
  scaling?: 'none' | 'linear' | 'yarn' | undefined
  /** Base frequency. */
  freqBase?: number | undefined
  /** Factor of all frequencies: 0.25 stretches the training context to four times its length. */
  freqScale?: number | undefined
  /** The context that YaRN stretches: the training context */
  yarnOrigCtx?: number | undefined
  /** How much is extrapolated: 0 is interpolation alone. */
  yarnExtFactor?: number | undefined
  yarnAttnFactor?: number | undefined
  yarnBetaFast?: number | undefined
  yarnBetaSlow?: number | undefined
}

const names = namesOf<RopeOptions>({
  scaling: true,
  freqBase: true,
  freqScale: true,
  yarnOrigCtx: true,
  yarnExtFactor: true,
  yarnAttnFactor: true,
  yarnBetaFast: true,
  yarnBetaSlow: true,
})

const scalings = ['none', 'linear', 'yarn'] as const
const tiny = 1e-9
const huge = 1e12

/** What was given, checked. */
export function checkRope(given: RopeOptions | undefined): RopeOptions {
  const rope = readOptions('rope', given, names)
  if (rope.scaling !== undefined) oneOf('scaling', rope.scaling, 'none', scalings)
  number('freqBase', rope.freqBase, 1, tiny, huge)
  number('freqScale', rope.freqScale, 1, tiny, huge)
  integer('yarnOrigCtx', rope.yarnOrigCtx, 1, 1, 2 ** 31 - 1)
  number('yarnExtFactor', rope.yarnExtFactor, 0, 0, 1)
  number('yarnAttnFactor', rope.yarnAttnFactor, 1, 0, huge)
  number('yarnBetaFast', rope.yarnBetaFast, 1, 0, huge)
  number('yarnBetaSlow', rope.yarnBetaSlow, 1, 0, huge)
  return { ...rope }
}
