// One line that says how far a build is: drawn anew in place on a terminal, elsewhere a line of its own every 30 seconds.

const STEP = /\[\s*(\d+)\/(\d+)\]/g // ninja
const SHARE = /\[\s*(\d+)%\]/g // make

const FIRST_SECONDS = 3 // what is over sooner has one line, its last
const SECONDS = 30 // between two lines

export class Progress {
  /** @param {string} log the file that has everything */
  constructor(name, log, stream) {
    this.name = name
    this.log = log
    this.stream = stream
    this.start = performance.now()
    this.steps = ''
    if (stream.isTTY) this.#draw()
    const every = (seconds) => setInterval(() => this.#draw(), seconds * 1000)
    this.timers = stream.isTTY
      ? [every(1)]
      : [setTimeout(() => this.#draw(), FIRST_SECONDS * 1000), every(SECONDS)]
  }

  /** What the build printed. */
  read(text) {
    const [step, share] = [STEP, SHARE].map((pattern) => [...text.matchAll(pattern)].at(-1))
    if (!step && !share) return
    this.total = step?.[2]
    this.steps = step ? `${step[1]} of ${step[2]}` : `${share[1]} %`
    if (this.stream.isTTY) this.#draw()
  }

  end(how = this.total ? `done, ${this.total} steps` : 'done') {
    for (const timer of this.timers) clearInterval(timer)
    if (this.stream.isTTY) this.stream.write('\r\x1b[K')
    this.stream.write(`${this.name}: ${how}, ${this.#time()}\n`)
  }

  #draw() {
    const line = `${this.name}: ${this.steps || 'building'}, ${this.#time()} (log: ${this.log})`
    if (this.stream.isTTY) this.stream.write(`\r${line.slice(0, (this.stream.columns || 80) - 1)}\x1b[K`)
    else this.stream.write(`${line}\n`)
  }

  #time() {
    const seconds = Math.round((performance.now() - this.start) / 1000)
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  }
}
