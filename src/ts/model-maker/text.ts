/** Readable text of any length, the same for the same seed. */

import { Random } from './random.js'

const words = (list: string): string[] => list.trim().split(/\s+/)

const adjectives = words(`
  old quiet narrow bright patient heavy distant broken early green careful empty sudden warm northern plain`)
const nouns = words(`
  river engine letter garden captain harbour window winter teacher machine orchard signal market bridge village
  lantern clock road`)
const verbs = words(`
  followed carried remembered opened measured crossed painted answered repaired watched counted hid found lost`)
const places = [
  'beyond the hill',
  'near the station',
  'in the cellar',
  'under the mill',
  'at the edge of town',
  'by the sea',
  'behind the church',
  'along the canal',
]
const times = [
  'At noon',
  'In March',
  'Before dawn',
  'That year',
  'Later',
  'Twice a week',
  'After the storm',
  'Since then',
]
const names = ['Anna', 'old Hale', 'Ines', 'Tom', 'the miller', 'Doctor Voss', 'Clara', 'the pilot']

/** Exactly `length` printable ASCII characters and line feeds (so as many tokens) of English-like sentences. */
export function demoText(length: number, seed = 1): string {
  if (!Number.isInteger(length) || length < 0)
    throw new RangeError(`length must be a whole number, is ${length}`)
  const random = new Random(seed, 'demo text')
  const parts: string[] = []
  let size = 0
  while (size < length) {
    const text = sentence(random) + (random.uniform() < 0.15 ? '\n\n' : ' ')
    parts.push(text)
    size += text.length
  }
  return parts.join('').slice(0, length)
}

function sentence(random: Random): string {
  const thing = () => `the ${random.pick(adjectives)} ${random.pick(nouns)}`
  const event = () => `${random.pick(names)} ${random.pick(verbs)} ${thing()} ${random.pick(places)}`
  const number = 2 + Math.floor(random.uniform() * 997)
  const forms = [
    () => `${random.pick(times)}, ${event()}`,
    () => `${thing()} ${random.pick(verbs)} ${thing()}, and ${event()}`,
    () => `${event()} for ${number} days`,
    () => `there were ${number} ${random.pick(nouns)}s ${random.pick(places)}, but ${event()}`,
  ]
  const text = random.pick(forms)()
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
