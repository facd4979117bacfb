/** The questions and their answers. */

import { useSignal } from '@preact/signals'
import { Fragment, type TargetedEvent, type TargetedKeyboardEvent } from 'preact'
import { ask, askAgain, type Question, questions } from './questions.js'
import { connection, type Progress, type Timings } from './server.js'
import { count, seconds } from './words.js'

export function Questions() {
  return (
    <section class="questions" aria-labelledby="questions-title">
      <h2 id="questions-title">Questions</h2>
      <Composer />
      <ol>
        {questions.value.map((question) => (
          <Card key={question.id} question={question} />
        ))}
      </ol>
    </section>
  )
}

function Composer() {
  const text = useSignal('')
  const canChat = connection.value.served?.canChat !== false
  const submit = (event: TargetedEvent<HTMLElement>) => {
    event.preventDefault()
    if (text.value.trim() === '') return
    ask(text.value.trim())
    text.value = ''
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event)
  }
  return (
    <form onSubmit={submit}>
      <textarea
        rows={2}
        aria-labelledby="questions-title"
        aria-describedby="how"
        placeholder={canChat ? 'What does the text say about …?' : 'The name of the author is'}
        value={text}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value
        }}
        onKeyDown={onKeyDown}
      />
      <div class="buttons">
        <button type="submit" class="first">
          Ask
        </button>
        <p class="hint" id="how">
          {canChat
            ? 'Enter asks. Several may be open at once; each sees the text alone.'
            : 'This model does not chat: it writes on behind the text and what you begin.'}
        </p>
      </div>
    </form>
  )
}

function Card({ question }: { question: Question }) {
  const { isOpen, step, problem, thought, answer, ttftMs } = question
  return (
    <li>
      <h3>{question.text}</h3>
      {thought.value && (
        <details>
          <summary>Thoughts</summary>
          <p class="answer">{thought}</p>
        </details>
      )}
      <p class="answer" aria-live="polite" aria-busy={isOpen}>
        {answer.value.trimStart()}
      </p>
      {problem.value && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <footer>
        <p class="figures">
          {ttftMs.value !== undefined && <b>{seconds(ttftMs.value)} to the first token</b>}
          {figuresOf(question).map((figure, i) => (
            <Fragment key={figure}>
              {(i > 0 || ttftMs.value !== undefined) && ' · '}
              <span>{figure}</span>
            </Fragment>
          ))}
        </p>
        {isOpen ? (
          <button type="button" onClick={() => question.stop()}>
            Stop<span class="unseen"> {question.text}</span>
          </button>
        ) : (
          step.value !== 'answered' && (
            <button type="button" onClick={() => askAgain(question)}>
              Ask again<span class="unseen"> {question.text}</span>
            </button>
          )
        )}
      </footer>
    </li>
  )
}

function figuresOf({ step, progress, timings, ttftMs }: Question): string[] {
  switch (step.value) {
    case 'for the text':
    case 'for its turn':
      return [`Waits ${step.value}`]
    case 'reading':
      return [howFar(progress.value as Progress)]
    case 'stopped':
      return ['stopped']
    default:
      return timings.value ? endOf(timings.value, ttftMs.value) : []
  }
}

const howFar = ({ total, processed }: Progress) => `Reads ${count(processed)} of ${count(total)} tokens`

function endOf({ prompt_ms, predicted_n, predicted_per_second, h2o }: Timings, ttftMs?: number): string[] {
  const { gain_predicted: gain } = h2o
  const rest = predicted_n > 1 ? `, ${count(predicted_per_second)}/s` : ''
  return [
    ...(gain !== null && ttftMs !== undefined
      ? [`dense about ${seconds(ttftMs + prompt_ms * (gain - 1))}, predicted`]
      : []),
    `${count(predicted_n)} tokens${rest}`,
  ]
}
