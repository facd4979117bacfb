// Flag values that are lists, as llama-bench takes them: "512,1024", "512-2048*2", "512-2048+512".
import { InvalidArgumentError } from 'commander'
import { integer, item, type Parser } from './parsers.js'

const MOST = 1000

/** Whole numbers, lists and ranges of them, each once and in the order given. */
export function integers(min: number): Parser<number[]> {
  const one = item(integer(min))
  return (text) => {
    const values = text.split(',').flatMap((part) => range(part, one))
    if (values.length > MOST) throw new InvalidArgumentError(`More than ${MOST} values.`)
    return [...new Set(values)]
  }
}

function range(text: string, one: Parser<number>): number[] {
  const match = /^(\d+)-(\d+)(?:([+*])(\d+))?$/.exec(text)
  if (!match) return [one(text)]
  const [first, last, step] = [one(match[1] as string), one(match[2] as string), Number(match[4] ?? 1)]
  const next = match[3] === '*' ? (i: number) => i * step : (i: number) => i + step
  if (next(first) <= first || last < first) {
    throw new InvalidArgumentError(`'${text}' is no range: first-last, first-last+step or first-last*mult.`)
  }
  const values: number[] = []
  for (let i = first; i <= last && values.length <= MOST; i = next(i)) values.push(i)
  return values
}

/** Names out of `groups`, which maps each name to what it stands for. */
export function names<T>(groups: ReadonlyMap<string, readonly T[]>): Parser<T[]> {
  return (text) => {
    const values = text.split(',').flatMap((name) => {
      const group = groups.get(name)
      if (!group) throw new InvalidArgumentError(`'${name}' is none of ${[...groups.keys()].join(', ')}.`)
      return group
    })
    return [...new Set(values)]
  }
}
