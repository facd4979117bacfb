// One request, whole or streamed, by a client that may leave.

/**
 * The text, the path of its prompt and the milliseconds; to the first piece of text where it is streamed. 'left' if the
 * client left before the end. Throws what is no answer.
 *
 * @param onFirst told of the first piece
 */
export async function ask(url, body, leaveAfterMs, onFirst) {
  const controller = new AbortController()
  const timer = leaveAfterMs !== undefined && setTimeout(() => controller.abort(), leaveAfterMs)
  const start = performance.now()
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: controller.signal,
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    const got = body.stream ? await streamed(response, start, onFirst) : await whole(response)
    return { ...got, ms: performance.now() - start }
  } catch (error) {
    if (controller.signal.aborted) return 'left'
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function whole(response) {
  const { choices, timings } = await response.json()
  return { text: choices[0].message.content, path: timings.h2o.path }
}

async function streamed(response, start, onFirst) {
  let rest = ''
  let text = ''
  let ttftMs
  let path
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const { error, choices, timings } = JSON.parse(line.slice('data: '.length))
      if (error) throw new Error(error.message)
      const piece = choices[0]?.delta.content
      if (piece && ttftMs === undefined) {
        ttftMs = performance.now() - start
        onFirst?.()
      }
      text += piece ?? ''
      path = timings?.h2o.path ?? path
    }
  }
  if (path === undefined) throw new Error('the stream ended early')
  return { text, path, ttftMs }
}
