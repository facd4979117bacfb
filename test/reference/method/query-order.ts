// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Which queries of a chunk share a set under the policy `query` (src/native/h2o/README.md, "Order"), for one head. All of
// it is of integers, which a number of JavaScript holds exactly.

import { range } from '../model/attention.js'

/** queries that share a set */
export const BLOCK = 64

/** The queries of a chunk by their places: those of the first block, of the second, and so on. */
export function orderOf(queries: readonly Float64Array[]): number[] {
  const rounded = roundedQueries(queries)
  const split = (part: number[]): number[] => {
    const n = part.length
    if (n <= BLOCK) return part
    const u = direction(part.map((i) => rounded[i]!))
    const along = new Map(part.map((i) => [i, product(u, rounded[i]!)]))
    const sorted = [...part].sort((a, b) => along.get(a)! - along.get(b)! || a - b)
    const nFirst = Math.max(BLOCK, BLOCK * Math.ceil(n / (2 * BLOCK)))
    const ascending = (half: number[]) => half.sort((a, b) => a - b)
    return [...split(ascending(sorted.slice(0, nFirst))), ...split(ascending(sorted.slice(nFirst)))]
  }
  return split(range(0, queries.length))
}

/** r = q * 2^(7 - e), within [-127, 127], with 2^(e - 1) <= max |q| < 2^e; what is not finite is 0. */
function roundedQueries(queries: readonly Float64Array[]): number[][] {
  const sizes = queries.flatMap((q) => [...q].filter(Number.isFinite).map(Math.abs))
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0)
  const e = largest > 0 ? exponentOf(largest) : 0
  const rounded = (x: number) =>
    Number.isFinite(x) ? Math.min(127, Math.max(-127, nearestEven(x * 2 ** (7 - e)))) : 0
  return queries.map((q) => Array.from(q, rounded))
}

/** e, where 2^(e - 1) <= x < 2^e */
function exponentOf(x: number): number {
  let e = Math.floor(Math.log2(x)) + 1
  while (2 ** (e - 1) > x) e--
  while (2 ** e <= x) e++
  return e
}

function nearestEven(x: number): number {
  const below = Math.floor(x)
  const rest = x - below
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1
}

/** u: the sum of x_i r(i), as 8 bits, where x_i is how far r(i) is from the mean in the channel that varies most. */
function direction(part: readonly number[][]): number[] {
  const n = part.length
  const channels = range(0, part[0]!.length)
  const sums = channels.map((c) => part.reduce((sum, r) => sum + r[c]!, 0))
  const varying = channels.map((c) => n * part.reduce((sum, r) => sum + r[c]! ** 2, 0) - sums[c]! ** 2)
  const c = varying.indexOf(Math.max(...varying))
  const mean = Math.trunc(sums[c]! / n)
  const u = channels.map((k) => part.reduce((sum, r) => sum + (r[c]! - mean) * r[k]!, 0))
  let shift = 1
  while (Math.floor(Math.max(...u.map(Math.abs)) / shift) > 127) shift *= 2
  return u.map((x) => Math.floor(x / shift))
}

function product(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, x, k) => sum + x * b[k]!, 0)
}
