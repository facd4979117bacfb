/** The page of `h2o-prefill serve`: a text is read, and questions are asked about it. */

import { render } from 'preact'
import { KeyForm } from './key-form.js'
import { Questions } from './questions-view.js'
import { connect, connection } from './server.js'
import { announcement, TextPane } from './text-view.js'
import { count } from './words.js'

function Page() {
  const { served, isLocked, problem } = connection.value
  return (
    <>
      <header>
        <h1>h2o-prefill</h1>
        {served && (
          <p>
            <span class="model">{served.model}</span> {count(served.nCtx)} tokens of context
          </p>
        )}
      </header>
      {problem && (
        <div class="problem" role="alert">
          <p>{problem}</p>
          <button type="button" onClick={connect}>
            Try again
          </button>
        </div>
      )}
      {isLocked && <KeyForm />}
      <main>
        <TextPane />
        <Questions />
      </main>
      <p class="unseen" aria-live="polite">
        {announcement}
      </p>
    </>
  )
}

render(<Page />, document.body)
connect()
