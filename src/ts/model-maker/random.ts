/**
 * Seeded randomness: sfc32, and normal values drawn from a table at two values per 32-bit draw.
 * Every tensor has a stream of its own, seeded by (seed, tensor name), so that a model's values depend
 * neither on the order of its tensors nor on how many of them are made.
 */

const TABLE_BITS = 16
const TABLE_SIZE = 1 << TABLE_BITS
const TABLE_MASK = TABLE_SIZE - 1

/** FNV-1a over the UTF-16 units of `text`. */
function hash32(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h | 0
}

/** Chris Doty-Humphrey's sfc32, seeded with an integer and a name. */
export class Random {
  private a: number
  private b: number
  private c: number
  private d = 1

  constructor(seed: number, name = '') {
    this.a = hash32(name)
    this.b = seed | 0
    this.c = Math.floor(seed / 2 ** 32) | 0
    for (let i = 0; i < 15; i++) this.next()
  }

  /** The next 32 bits, as a signed integer. */
  next(): number {
    const t = (((this.a + this.b) | 0) + this.d) | 0
    this.d = (this.d + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + t) | 0
    return t
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return (this.next() >>> 0) / 2 ** 32
  }

  /** One of `items`, uniformly. */
  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.uniform() * items.length)] as T
  }

  /** Fills out[begin, end) with mean + std * N(0, 1). The state lives in locals here: this is the hot loop. */
  fillNormal(out: Float32Array, begin: number, end: number, mean: number, std: number): void {
    const table = normalTable()
    let { a, b, c, d } = this
    for (let i = begin; i < end; i += 2) {
      const t = (((a + b) | 0) + d) | 0
      d = (d + 1) | 0
      a = b ^ (b >>> 9)
      b = (c + (c << 3)) | 0
      c = (((c << 21) | (c >>> 11)) + t) | 0
      out[i] = mean + std * (table[t & TABLE_MASK] as number)
      if (i + 1 < end) out[i + 1] = mean + std * (table[t >>> TABLE_BITS] as number)
    }
    this.a = a
    this.b = b
    this.c = c
    this.d = d
  }
}

let table: Float32Array | undefined

/** 65536 samples of N(0, 1), made once with Box-Muller, each with its negative so that the mean is exactly 0. */
function normalTable(): Float32Array {
  if (table) return table
  const random = new Random(0, 'normal table')
  table = new Float32Array(TABLE_SIZE)
  for (let i = 0; i < TABLE_SIZE; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - random.uniform()))
    const value = radius * Math.cos(2 * Math.PI * random.uniform())
    table[i] = value
    table[i + 1] = -value
  }
  return table
}
