/** The text that questions are about: written, being read, or read. */

import { signal } from '@preact/signals'
import { answer, type Progress, type Timings } from './server.js'
import { count, Failure, seconds } from './words.js'

interface Read {
  text: string
  progress?: Progress
  /** It has been read. */
  timings?: Timings
}

/** What is in the editor. */
export const draft = signal('')
/** None while the editor is open. */
export const read = signal<Read | undefined>()
export const problem = signal('')
/** For who does not see the bar. */
export const announcement = signal('')

let reading = Promise.resolve()
let abort = new AbortController()

/** Resolves when the text can be asked about. Rejects with why it cannot. */
export const untilRead = (): Promise<void> => reading

export function startReading(): void {
  const text = draft.value
  if (text.trim() === '') {
    problem.value = 'There is no text yet. Paste one, or drop a file.'
    return
  }
  problem.value = ''
  abort = new AbortController()
  reading = readIn(text, abort.signal)
  reading.catch(() => {}) // said already
}

export const stopReading = (): void => abort.abort()

export function editAgain(): void {
  read.value = undefined
  announcement.value = ''
}

async function readIn(text: string, signal: AbortSignal): Promise<void> {
  read.value = { text }
  announcement.value = 'Reading.'
  try {
    for await (const { progress, timings } of answer({ text }, signal)) {
      if (progress) announceQuarters(progress)
      read.value = { ...(read.value as Read), ...(progress && { progress }), ...(timings && { timings }) }
    }
    const { timings } = read.value as Read
    if (timings) announcement.value = `The text was read in ${seconds(timings.prompt_ms)}.`
  } catch (error) {
    const { progress } = read.value ?? {}
    const stopped = `Stopped${progress ? ` after ${count(progress.processed)} of ${count(progress.total)} tokens` : ''}.`
    problem.value = signal.aborted ? stopped : (error as Failure).message
    editAgain()
    throw new Failure('Not asked, as the text was not read.')
  }
}

function announceQuarters({ processed, total }: Progress): void {
  const quarters = Math.floor((4 * processed) / total)
  if (quarters > 0 && quarters < 4) announcement.value = `${25 * quarters} percent read.`
}

/** Of a file that was dropped or chosen. */
export async function openFile(file: File): Promise<void> {
  const text = await file.text()
  if (text.startsWith('%PDF-') || text.includes('\0')) {
    problem.value = `${file.name} is no plain text. Save it as text first.`
    return
  }
  draft.value = text
  startReading()
}
