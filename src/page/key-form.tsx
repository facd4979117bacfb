/** Asks for the key of the server. It is kept until the tab is closed. */

import { useSignal } from '@preact/signals'
import type { TargetedEvent } from 'preact'
import { hasKey, takeKey } from './server.js'

export function KeyForm() {
  const isWrong = useSignal(hasKey())
  const submit = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    isWrong.value = false
    await takeKey(String(new FormData(event.currentTarget).get('key')))
    isWrong.value = true // else this form is gone
  }
  return (
    <form class="key" onSubmit={submit}>
      <label for="key">This server wants an API key.</label>
      <input id="key" name="key" type="password" autocomplete="off" spellcheck={false} required />
      <button type="submit">Use it</button>
      <p role="alert">{isWrong.value && 'The server does not take this key. Give another one.'}</p>
      <p class="hint">It stays in this tab until you close it.</p>
    </form>
  )
}
