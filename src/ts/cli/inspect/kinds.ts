// What a chunk sees of the positions before it and of itself, column by column.
import type { Columns } from './columns.js'

/** Kinds of positions, in the order of the palette. */
export const kinds = ['own', 'local', 'heavyNew', 'heavyKept'] as const
export type Kind = (typeof kinds)[number]

export interface KindRow {
  /** of most seen positions of the column, as an index into `kinds`; -1 where none is seen */
  kind: Int8Array
  /** share of the column that is seen, 0 to 1 */
  share: Float32Array
  /** columns from here on lie behind the chunk */
  end: number
}

export interface ChunkView {
  pos: number
  n: number
  memory: Int32Array
  /** the memory of the chunk before, null for the first one: a Heavy member that is not in it is new */
  before: Int32Array | null
}

export function kindRow(columns: Columns, local: number, { pos, n, memory, before }: ChunkView): KindRow {
  const counts = kinds.map(() => new Uint32Array(columns.count))
  const add = (kind: Kind, position: number) => {
    const row = counts[kinds.indexOf(kind)] as Uint32Array
    row[columns.of(position)] = (row[columns.of(position)] as number) + 1
  }
  for (let position = pos; position < pos + n; position++) add('own', position)
  const known = new Set(before)
  for (const position of memory) {
    if (position >= pos - local) add('local', position)
    else add(known.has(position) ? 'heavyKept' : 'heavyNew', position)
  }
  const kind = new Int8Array(columns.count).fill(-1)
  const share = new Float32Array(columns.count)
  for (let column = 0; column < columns.count; column++) {
    const here = counts.map((row) => row[column] as number)
    const seen = here.reduce((a, b) => a + b, 0)
    if (seen === 0) continue
    kind[column] = here.indexOf(Math.max(...here))
    share[column] = seen / columns.size(column)
  }
  return { kind, share, end: columns.of(pos + n - 1) + 1 }
}
