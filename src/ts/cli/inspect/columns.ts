// Positions of a prompt as the columns of a heat map: one each, or several to a column where the prompt is long.

export class Columns {
  readonly nPositions: number
  readonly count: number

  constructor(nPositions: number, most: number) {
    this.nPositions = nPositions
    this.count = Math.min(nPositions, most)
  }

  of(position: number): number {
    return Math.floor((position * this.count) / this.nPositions)
  }

  /** the first position of a column; of `count`, the end */
  begin(column: number): number {
    return Math.ceil((column * this.nPositions) / this.count)
  }

  size(column: number): number {
    return this.begin(column + 1) - this.begin(column)
  }

  /** The largest value of each column; NaN where there is none. */
  largest(positions: Iterable<number>, valueAt: (position: number) => number): Float32Array {
    const row = new Float32Array(this.count).fill(Number.NaN)
    for (const position of positions) {
      const column = this.of(position)
      const value = valueAt(position)
      if (!(value <= (row[column] as number))) row[column] = value
    }
    return row
  }
}
