// One line that says how far a build is: drawn anew in place on a terminal, elsewhere now and then as a line of its
// own.

const STEP = /\[\s*(\d+)\/(\d+)\]/g // ninja
const SHARE = /\[\s*(\d+)%\]/g // make

const FIRST_SECONDS = 3 // what is over sooner has one line, its last
const NOW_AND_THEN = 0.25 // of the steps
const LEAST_SECONDS = 10 // between two lines

export class Progress {
  /** @param {string} log the file that has everything */
  constructor(name, log, stream) {
    this.name = name
    this.log = log
    this.stream = stream
    this.start = performance.now()
    this.steps = ''
    this.said = { share: 0, at: this.start }
    if (stream.isTTY) this.#draw()
    this.timer = stream.isTTY
      ? setInterval(() => this.#draw(), 1000)
      : setTimeout(() => this.#show('building'), FIRST_SECONDS * 1000)
  }

  /** What the build printed. */
  read(text) {
    const [step, share] = [STEP, SHARE].map((pattern) => [...text.matchAll(pattern)].at(-1))
    if (!step && !share) return
    const done = step ? step[1] / step[2] : share[1] / 100
    this.total = step?.[2]
    this.steps = step ? `${step[1]} of ${step[2]}` : `${share[1]} %`
    if (this.stream.isTTY) return this.#draw()
    const now = performance.now()
    if (done < this.said.share + NOW_AND_THEN || done === 1 || now < this.said.at + LEAST_SECONDS * 1000)
      return
    this.said = { share: done, at: now }
    this.#show(this.steps)
  }

  end(how = this.total ? `done, ${this.total} steps` : 'done') {
    clearInterval(this.timer)
    if (this.stream.isTTY) this.stream.write('\r\x1b[K')
    this.stream.write(`${this.name}: ${how}, ${this.#time()}\n`)
  }

  #draw() {
    this.#show(this.steps || 'building')
  }

  #show(what) {
    const line = `${this.name}: ${what}, ${this.#time()} (log: ${this.log})`
    if (this.stream.isTTY) this.stream.write(`\r${line.slice(0, (this.stream.columns || 80) - 1)}\x1b[K`)
    else this.stream.write(`${line}\n`)
  }

  #time() {
    const seconds = Math.round((performance.now() - this.start) / 1000)
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  }
}
