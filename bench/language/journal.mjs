// What has been measured, one line each as soon as it is known: an interrupted run loses the item that it was at.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

export class Journal {
  #file
  #known = new Map()

  /** @param {object} of what the figures are of. Throws if the file is of something else */
  constructor(file, of) {
    this.#file = file
    mkdirSync(dirname(file), { recursive: true })
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    for (const line of lines) {
      try {
        const { key, value } = JSON.parse(line)
        this.#known.set(key, value)
      } catch {
        // the line that an interrupted run was writing
      }
    }
    if (lines.at(-1) !== '' && lines.length > 0) appendFileSync(file, '\n')
    if (JSON.stringify(this.#known.get('of')) !== JSON.stringify(of)) {
      if (this.#known.size > 0)
        throw new Error(`${file} is of another run: delete it, or give what it was begun with.`)
      this.#write('of', of)
    }
  }

  /** What `make` gave, in this run or in one before. */
  async once(key, make) {
    if (!this.#known.has(key)) this.#write(key, await make())
    return this.#known.get(key)
  }

  #write(key, value) {
    this.#known.set(key, value)
    appendFileSync(this.#file, `${JSON.stringify({ key, value })}\n`)
  }
}
