// Progress of the prefill on stderr: one redrawn line on a terminal, one line per call elsewhere.
import type { PrefillProgress } from '../../index.js'
import { rate, rough } from './format.js'
import type { OutputStream } from './io.js'

export interface Progress {
  update(progress: PrefillProgress): void
  /** Takes the bar away; safe to call twice. */
  end(): void
}

export function createProgress(stderr: OutputStream, total: number, now = () => performance.now()): Progress {
  return stderr.isTTY ? new Bar(stderr, total, now) : new Lines(stderr)
}

class Lines implements Progress {
  readonly #stderr: OutputStream

  constructor(stderr: OutputStream) {
    this.#stderr = stderr
  }

  update({ done, total, call }: PrefillProgress): void {
    if (!call) return // inside a call
    this.#stderr.write(`prefill: ${done}/${total} tokens (${call.n} at ${call.pos}, ${call.path})\n`)
  }

  end(): void {}
}

/** Before this, what is left is a guess. */
const SOON_MS = 1000

const CLEAR = '\r\x1b[2K'

class Bar implements Progress {
  readonly #stderr: OutputStream
  readonly #now: () => number
  readonly #start: number
  #drawn = false
  #path = ''

  constructor(stderr: OutputStream, total: number, now: () => number) {
    this.#stderr = stderr
    this.#now = now
    this.#start = now()
    this.#draw(0, total, '')
  }

  update({ done, total, call }: PrefillProgress): void {
    const spent = this.#now() - this.#start
    const perSecond = done / Math.max(spent / 1000, 1e-6)
    if (call) this.#path = `  ${call.path}`
    // as fast as so far, which it is where the path is sparse
    const left = spent >= SOON_MS && done < total ? `  ${rough((total - done) / perSecond)} left` : ''
    this.#draw(done, total, `  ${rate(perSecond)}${this.#path}${left}`)
  }

  end(): void {
    if (this.#drawn) this.#stderr.write(CLEAR)
    this.#drawn = false
  }

  #draw(done: number, total: number, note: string): void {
    const text = `  ${done}/${total}${note}`
    const width = Math.min(40, (this.#stderr.columns || 80) - text.length - 'prefill []'.length - 1)
    const full = Math.round((width * done) / Math.max(total, 1))
    const bar = width >= 8 ? ` [${'#'.repeat(full)}${'.'.repeat(width - full)}]` : ''
    this.#stderr.write(`${CLEAR}prefill${bar}${text}`)
    this.#drawn = true
  }
}
