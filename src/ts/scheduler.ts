/**
 * The order in which the sequences of a context compute: one native call after the other, on one thread.
 *
 * By turns: every sequence that has asked for its next token gets it, then one call of one prompt runs, of a chunk at
 * most. So whoever decodes waits for one chunk between two tokens, however long the prompt is. A chunk takes as long as
 * many tokens, so behind one there are tokens for as long as it took. Who does not ask is not waited for.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { H2oError } from './errors.js'

/**
 * `step`: one token of a sequence that decodes. `prompt`: a part of what one reads. `move`: a state that is saved or
 * loaded, a text that becomes tokens; as a prompt, but not counted.
 */
export type CallKind = 'step' | 'prompt' | 'move'

/** Of prompts. States have it, so that no prompt keeps them waiting for more than a call. */
export const maxPriority = 2 ** 31 - 1

/** The next token of a sequence whose sampler draws another one behind it. */
export interface Row<T> {
  sequence: number
  token: number
  resolve(result: T): void
  reject(error: unknown): void
}

/** Decodes all of these in one call, and settles each. */
export type StepTogether = (rows: Row<never>[]) => Promise<void>

interface Waiting {
  row?: Row<never>
  kind: CallKind
  sequence: number
  priority: number
  start(): Promise<void>
  cancel(reason: unknown): void
}

export interface SchedulerCounts {
  /** Turns in which sequences decoded, their native calls, and their tokens. */
  steps: number
  stepCalls: number
  rows: number
  /** Calls of prompts, and those at whose end a sequence was waiting for its next token. */
  prompts: number
  stalls: number
}

export class Scheduler {
  readonly counts: SchedulerCounts = { steps: 0, stepCalls: 0, rows: 0, prompts: 0, stalls: 0 }
  #steps: Waiting[] = []
  #prompts: Waiting[] = []
  /** When a sequence's prompt was last served: of equal priorities, the one that waits longest is next. */
  readonly #served = new Map<number, number>()
  #turns = 0
  #runs = false
  /** Milliseconds of tokens that are due before the next call of a prompt. */
  #owedMs = 0

  /**
   * @param together the rows of a step, in one call; without it each has its own
   * @param share of the time that is for tokens, where sequences decode and others read
   */
  constructor(
    readonly together?: StepTogether,
    readonly share = 0.5,
  ) {}

  /** What `work` gives, when it is its turn. Rejects with what cancel() or close() says. */
  run<T>(kind: CallKind, sequence: number, priority: number, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = () => work().then(resolve, reject)
      const waiting = { kind, sequence, priority, start, cancel: reject }
      if (kind === 'step') this.#steps.push(waiting)
      else this.#prompts.push(waiting)
      if (!this.#runs) void this.#run()
    })
  }

  /** As run('step'); with others that wait, in one call with them. */
  runRow<T>(sequence: number, token: number, work: () => Promise<T>): Promise<T> {
    if (!this.together) return this.run('step', sequence, 0, work)
    return new Promise((resolve, reject) => {
      const row: Row<never> = { sequence, token, resolve, reject }
      const start = () => work().then(resolve, reject)
      this.#steps.push({ row, kind: 'step', sequence, priority: 0, start, cancel: reject })
      if (!this.#runs) void this.#run()
    })
  }

  /** What a sequence has not begun rejects with ERR_H2O_INTERRUPTED. */
  cancel(sequence: number): void {
    const reason = new H2oError('ERR_H2O_INTERRUPTED', 'it was aborted before its turn')
    this.#reject((waiting) => waiting.sequence === sequence, reason)
  }

  /** Everything that has not begun rejects. */
  close(reason: unknown): void {
    this.#reject(() => true, reason)
  }

  #reject(isMeant: (waiting: Waiting) => boolean, reason: unknown): void {
    const meant = [...this.#steps, ...this.#prompts].filter(isMeant)
    this.#steps = this.#steps.filter((waiting) => !isMeant(waiting))
    this.#prompts = this.#prompts.filter((waiting) => !isMeant(waiting))
    for (const waiting of meant) waiting.cancel(reason)
  }

  async #run(): Promise<void> {
    this.#runs = true
    while (this.#steps.length + this.#prompts.length > 0) {
      const until = performance.now() + this.#owedMs
      this.#owedMs = 0
      await this.#step()
      while (this.#steps.length > 0 && performance.now() < until) await this.#step()
      await this.#prompt()
    }
    this.#runs = false
  }

  /** A call each, or one: the native thread has them in its queue, and does not wait for this one between them. */
  async #step(): Promise<void> {
    const steps = this.#steps.splice(0)
    if (steps.length === 0) return
    this.counts.steps++
    this.counts.rows += steps.length
    const rows = steps.flatMap(({ row }) => row ?? [])
    const isTogether = rows.length > 1 && this.together !== undefined
    const others = isTogether ? steps.filter(({ row }) => !row) : steps
    this.counts.stepCalls += others.length + Number(isTogether)
    await Promise.all([isTogether && this.together?.(rows), ...others.map((waiting) => waiting.start())])
    await nextTurn() // who has taken a token asks for the next one
  }

  async #prompt(): Promise<void> {
    const next = this.#nextPrompt()
    if (!next) return
    this.#prompts = this.#prompts.filter((waiting) => waiting !== next)
    this.#served.set(next.sequence, ++this.#turns)
    const began = performance.now()
    await next.start()
    this.#owedMs = ((performance.now() - began) * this.share) / (1 - this.share)
    if (next.kind === 'move') return
    this.counts.prompts++
    if (this.#steps.length > 0) this.counts.stalls++
  }

  #nextPrompt(): Waiting | undefined {
    const since = ({ sequence }: Waiting) => this.#served.get(sequence) ?? 0
    return this.#prompts.reduce<Waiting | undefined>((first, other) => {
      if (!first || other.priority > first.priority) return other
      return other.priority === first.priority && since(other) < since(first) ? other : first
    }, undefined)
  }
}
