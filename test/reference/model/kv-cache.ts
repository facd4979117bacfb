// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Every key and value of every layer and position. Nothing is ever evicted, whichever path wrote it. A recurrent layer
// has two rows of its own per position in their place (recurrent.ts).

export class KvCache {
  /** keys[layer][position]: nHeadKv * headDim numbers, after norm and RoPE */
  readonly keys: Float64Array[][]
  readonly values: Float64Array[][]

  constructor(nLayer: number) {
    this.keys = Array.from({ length: nLayer }, () => [])
    this.values = Array.from({ length: nLayer }, () => [])
  }

  /** positions held */
  get length(): number {
    return this.keys[0]!.length
  }

  /** Appends rows of `width` numbers, one per token. */
  append(layer: number, k: Float64Array, v: Float64Array, width: number): void {
    for (let at = 0; at < k.length; at += width) {
      this.keys[layer]!.push(k.slice(at, at + width))
      this.values[layer]!.push(v.slice(at, at + width))
    }
  }

  /** Forgets every position >= length. */
  truncate(length: number): void {
    for (const rows of [...this.keys, ...this.values]) rows.length = Math.min(rows.length, length)
  }
}
