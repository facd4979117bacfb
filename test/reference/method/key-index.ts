// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What the policy `query` knows of the keys and values of one layer and KV head before it looks at each of them
// (src/native/h2o/README.md, "query"): a function of these alone, made from them at every question.

/** keys of a page */
export const PAGE = 64

/** Keys or values, by position. */
export type Rows = readonly Float64Array[]

/** 1/64 of the sum over the positions of page P */
export function meanOf(rows: Rows, page: number): Float64Array {
  const members = rows.slice(page * PAGE, (page + 1) * PAGE)
  return members[0]!.map((_, k) => members.reduce((sum, row) => sum + row[k]!, 0) / PAGE)
}
