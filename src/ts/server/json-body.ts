/** The body of a request: how much there is in it is counted before a parser holds the event loop with it. */

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { decodeInTurns, slicesOf } from '../decode-in-turns.js'
import { ApiError } from './api-error.js'
import type { Bodies } from './bodies.js'

/** What takes some 100 milliseconds to parse at most: a million strings that differ would take 0.7 s. */
const most = { levels: 1000, brackets: 100_000, names: 100_000, strings: 200_000, items: 1_500_000 }

/** A name that means another thing to JavaScript, its letters as they are or escaped. */
const prototypeName = new RegExp(`"${[...'__proto__'].map(orEscaped).join('')}"\\s*:`)

function orEscaped(letter: string): string {
  const hex = letter.charCodeAt(0).toString(16).replace('f', '[fF]')
  return `(?:${letter}|\\\\u00${hex})`
}

export function addJsonBody(app: FastifyInstance, bodies: Bodies): void {
  const parse = app.getDefaultJsonParser('ignore', 'ignore') // it would look for such names in each item of a list
  app.removeContentTypeParser(['application/json', 'text/plain'])
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') {
      const message = 'a body is taken as it is: send it without content-encoding'
      throw new ApiError(415, 'unsupported_media_type', message)
    }
    const body = await bodies.receive(payload)
    if (!isUtf8(body)) throw new ApiError(400, 'invalid_json', 'the body is not UTF-8')
    const text = await decodeInTurns(counted(slicesOf(body)))
    if (prototypeName.test(text)) {
      throw new ApiError(400, 'invalid_json', 'the body has the name __proto__, which is not taken')
    }
    const parsed = await new Promise((resolve, reject) => {
      parse(request, text, (error, value) => (error ? reject(error) : resolve(value)))
    })
    await nextTurn() // others have theirs between long ones
    return parsed
  })
}

const [quote, comma, colon, backslash] = [...'",:\\'].map((c) => c.charCodeAt(0))
const [openList, closeList, openObject, closeObject] = [...'[]{}'].map((c) => c.charCodeAt(0))

/** Throws ApiError 400 for what is nested too deeply or has too many parts. What is no JSON may pass. */
function* counted(slices: Iterable<Buffer>): Generator<Buffer> {
  let [level, levels, brackets, names, strings, items] = [0, 0, 0, 0, 0, 0]
  let [isString, isEscaped] = [false, false]
  for (const bytes of slices) {
    for (let i = 0; i < bytes.length; i++) {
      const c = bytes[i]
      if (isEscaped) isEscaped = false
      else if (c === quote) {
        isString = !isString
        if (isString) strings++
      } else if (isString) isEscaped = c === backslash
      else if (c === openList || c === openObject) {
        brackets++
        if (++level > levels) levels = level
      } else if (c === closeList || c === closeObject) level--
      else if (c === colon) names++
      else if (c === comma) items++
    }
    for (const [name, n] of Object.entries({ levels, brackets, names, strings, items })) {
      const limit = most[name as keyof typeof most]
      if (n > limit)
        throw new ApiError(400, 'request_too_complex', `the body has ${n} ${name}, ${limit} are the most`)
    }
    yield bytes
  }
}
