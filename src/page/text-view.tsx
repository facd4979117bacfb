/** The text: an editor, then what is read of it as it is read, then what that took. */

import { useSignal } from '@preact/signals'
import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Progress, Timings } from './server.js'
import { draft, editAgain, openFile, problem, read, startReading, stopReading } from './text.js'
import { count, pathName, seconds } from './words.js'

export { announcement } from './text.js'

export function TextPane() {
  const { value } = read
  const step = !value ? 'written' : value.timings ? 'read' : 'reading'
  const pane = useFocusOfLostButtons(step)
  return (
    <section ref={pane} class="text" aria-labelledby="text-title">
      <h2 id="text-title">The text</h2>
      {step === 'written' && <Editor />}
      {value && step === 'reading' && <Reading text={value.text} progress={value.progress} />}
      {value?.timings && <WasRead text={value.text} timings={value.timings} />}
    </section>
  )
}

/** The button that was pressed goes with its step, and the focus with it: the next one's takes it. */
function useFocusOfLostButtons(step: string) {
  const pane = useRef<HTMLElement>(null)
  const before = useRef(step)
  useLayoutEffect(() => {
    const isLost = document.activeElement === document.body && before.current !== step
    if (isLost) pane.current?.querySelector('button')?.focus({ preventScroll: true })
    before.current = step
  }, [step])
  return pane
}

function Editor() {
  const isOver = useSignal(false)
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) startReading()
  }
  const over = (is: boolean) => (event: DragEvent) => {
    event.preventDefault()
    isOver.value = is
  }
  const drop = (event: DragEvent) => {
    over(false)(event)
    const [file] = event.dataTransfer?.files ?? []
    if (file) void openFile(file)
    else draft.value += event.dataTransfer?.getData('text/plain') ?? ''
  }
  return (
    <>
      <textarea
        class={isOver.value ? 'over' : ''}
        aria-labelledby="text-title"
        placeholder="Paste a long text here, or drop a file."
        spellcheck={false}
        value={draft}
        onInput={({ currentTarget }) => {
          draft.value = currentTarget.value
        }}
        onKeyDown={onKeyDown}
        onDragOver={over(true)}
        onDragLeave={over(false)}
        onDrop={drop}
      />
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="buttons">
        <button type="button" class="first" onClick={startReading} title="Ctrl+Enter">
          Read it
        </button>
        <label class="file">
          <input
            type="file"
            onChange={({ currentTarget: { files } }) => files?.[0] && void openFile(files[0])}
          />
          Open a file
        </label>
      </div>
    </>
  )
}

/** Characters that are laid out at once. */
const most = 50_000

function Reading({ text, progress }: { text: string; progress: Progress | undefined }) {
  const done = progress ? progress.processed / progress.total : 0
  const at = Math.round(done * text.length)
  const from = Math.floor(Math.min(at, text.length - 1) / most) * most
  const place = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const { current: mark } = place
    const box = mark?.parentElement
    if (mark && box) box.scrollTop = mark.offsetTop - box.clientHeight / 2
  }, [at])
  return (
    <>
      <div class="passing" aria-hidden="true">
        {text.slice(from, at)}
        <i ref={place} />
        <span>{text.slice(at, from + most)}</span>
      </div>
      <progress aria-label="How much of the text is read" max={1} value={done} />
      <p class="figures">{progress ? howFar(progress) : 'Waits for its turn'}</p>
      <div class="buttons">
        <button type="button" onClick={stopReading}>
          Stop
        </button>
      </div>
    </>
  )
}

function howFar({ total, cache, processed, time_ms, path }: Progress): string {
  const perMs = (processed - cache) / time_ms
  const left = (total - processed) / perMs
  return [
    `${count(processed)} of ${count(total)} tokens`,
    ...(path ? [pathName[path]] : []),
    seconds(time_ms),
    ...(time_ms > 500 ? [`${count(1000 * perMs)} tokens/s`, `${seconds(Math.max(left, 1000))} left`] : []),
  ].join(' · ')
}

function WasRead({ text, timings }: { text: string; timings: Timings }) {
  const { cache_n, prompt_n, prompt_ms, prompt_per_second, h2o } = timings
  const facts = [
    `${count(prompt_n)} tokens`,
    pathName[h2o.path],
    `${count(prompt_per_second)} tokens/s`,
    ...(cache_n > 0 ? [`${count(cache_n)} more were there already`] : []),
  ]
  return (
    <>
      <textarea aria-labelledby="text-title" readOnly spellcheck={false} value={text} />
      <Times ownMs={prompt_ms} gain={h2o.gain_predicted} />
      <p class="figures">{facts.join(' · ')}</p>
      <div class="buttons">
        <button type="button" onClick={editAgain}>
          Another text
        </button>
      </div>
    </>
  )
}

/** Beside what dense attention should take, where that can be predicted. */
function Times({ ownMs, gain }: { ownMs: number; gain: number | null }) {
  const denseMs = gain === null ? 0 : ownMs * gain
  const longest = Math.max(ownMs, denseMs)
  const width = (ms: number) => ({ width: `${(100 * ms) / longest}%` })
  return (
    <dl class="times">
      <dt>Read in</dt>
      <dd>
        <b>{seconds(ownMs)}</b>
        <i style={width(ownMs)} />
      </dd>
      {gain !== null && (
        <>
          <dt>Dense</dt>
          <dd class="dense">
            <b>about {seconds(denseMs)}, predicted</b>
            <i style={width(denseMs)} />
          </dd>
        </>
      )}
    </dl>
  )
}
