/** Questions about the text, each on its own: none sees what was asked before. */

import { batch, effect, type Signal, signal } from '@preact/signals'
import { answer, type Progress, type Timings } from './server.js'
import { draft, read, startReading, untilRead } from './text.js'
import type { Failure } from './words.js'

export type Step =
  | 'for the text'
  | 'for its turn'
  | 'reading'
  | 'answering'
  | 'answered'
  | 'stopped'
  | 'failed'

export class Question {
  readonly id = nextId++
  readonly step = signal<Step>('for the text')
  readonly answer = signal('')
  readonly thought = signal('')
  readonly problem = signal('')
  readonly progress: Signal<Progress | undefined> = signal()
  readonly timings: Signal<Timings | undefined> = signal()
  /** Milliseconds to the first token, as this page has seen it. */
  readonly ttftMs: Signal<number | undefined> = signal()
  #abort = new AbortController()

  constructor(readonly text: string) {
    void this.#run(this.#abort.signal)
  }

  get isOpen(): boolean {
    return !['answered', 'stopped', 'failed'].includes(this.step.value)
  }

  stop(): void {
    this.#abort.abort()
    if (this.step.value === 'for the text') this.step.value = 'stopped'
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      if (read.value) await untilRead()
      if (signal.aborted) return
      this.step.value = 'for its turn'
      const began = performance.now()
      for await (const piece of answer({ text: read.value?.text ?? '', question: this.text }, signal)) {
        batch(() => {
          const { progress, text, thought, timings } = piece
          if (progress) {
            this.progress.value = progress
            this.step.value = 'reading'
          }
          if (text || thought) {
            this.ttftMs.value ??= performance.now() - began
            this.step.value = 'answering'
          }
          this.answer.value += text ?? ''
          this.thought.value += thought ?? ''
          if (timings) this.timings.value = timings
        })
      }
      this.step.value = 'answered'
    } catch (error) {
      if (!signal.aborted) this.problem.value = (error as Failure).message
      this.step.value = signal.aborted ? 'stopped' : 'failed'
    }
  }
}

let nextId = 0

/** The newest one first. */
export const questions = signal<readonly Question[]>([])

let about = ''

// those of another text go
effect(() => {
  const { text } = read.value ?? { text: about }
  if (text === about) return
  about = text
  for (const question of questions.peek()) question.stop()
  questions.value = []
})

/** About what is in the editor, too: that is read first. */
export function ask(text: string): void {
  if (!read.value && draft.value.trim() !== '') startReading()
  questions.value = [new Question(text), ...questions.value]
}

export function askAgain(question: Question): void {
  const again = new Question(question.text)
  questions.value = questions.value.map((one) => (one === question ? again : one))
}
