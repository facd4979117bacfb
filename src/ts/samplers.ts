/** The samplers of llama.cpp by name and by letter (common/sampling.cpp), and their order. */

import { invalidArgument } from './errors.js'

const letters = {
  penalties: 'e',
  dry: 'd',
  top_n_sigma: 's',
  top_k: 'k',
  typ_p: 'y',
  top_p: 'p',
  min_p: 'm',
  xtc: 'x',
  temperature: 't',
  infill: 'i',
  adaptive_p: 'a',
} as const

export type SamplerName = keyof typeof letters

const names = Object.keys(letters) as SamplerName[]

export const defaultSamplers: readonly SamplerName[] = names.slice(0, -2)

const nicknames = new Map<string, SamplerName>([
  ['nucleus', 'top_p'],
  ['temp', 'temperature'],
  ['typ', 'typ_p'],
])

/** Each runs for every token, typ_p 0.6 milliseconds for 49,152 candidates. */
const most = 16
/** Characters of a name; a longer one is none, whatever is in it. */
const longest = 80

/**
 * Names as llama.cpp takes them: top_k, top-k or topk. Throws ERR_H2O_INVALID_ARGUMENT for one that it has not, and for a second
 * dry, which looks through the whole vocabulary before the first token.
 */
export function samplerOrder(given: unknown): SamplerName[] {
  if (!Array.isArray(given)) throw invalidArgument('samplers is a list of names', { samplers: given })
  refuseMany(given.length)
  const order = given.map((name) => {
    const isShort = typeof name === 'string' && name.length <= longest
    const plain = isShort ? name.toLowerCase().replaceAll(/[-_]/g, '') : ''
    const found = nicknames.get(plain) ?? names.find((known) => known.replaceAll('_', '') === plain)
    if (found === undefined) {
      const named = typeof name === 'string' ? `'${name.slice(0, longest)}'` : `of type ${typeof name}`
      throw invalidArgument(`there is no sampler ${named}; there are ${names.join(', ')}`, {
        sampler: name,
      })
    }
    return found
  })
  if (order.indexOf('dry') !== order.lastIndexOf('dry')) {
    throw invalidArgument('samplers names dry more than once', { samplers: order.length })
  }
  return order
}

/** What a sequence of letters means: 'edskypmxt' is the default. Throws for what is no letter, and for too many. */
export function samplersOfLetters(sequence: string): SamplerName[] {
  refuseMany(sequence.length)
  return [...sequence].map((letter) => {
    const found = names.find((name) => letters[name] === letter)
    if (found === undefined) {
      throw invalidArgument(
        `there is no sampler '${letter}'; the letters are ${Object.values(letters).join('')}`,
        {
          sampler: letter,
        },
      )
    }
    return found
  })
}

function refuseMany(samplers: number): void {
  if (samplers > most) throw invalidArgument(`samplers has more than ${most} names`, { samplers })
}
