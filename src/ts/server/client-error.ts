/** What is no request of HTTP, or does not arrive: there is no reply for it, so the answer is written by hand. */

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from './api-error.js'

/** @param isBegun an answer to another request is on its way: what is written would be a part of it */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket, isBegun: boolean): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const { status, body } = known(error.code)
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  if (socket.writable && !isBegun) socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
  socket.destroy(error)
}

function known(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ApiError(431, 'headers_too_large', 'the headers are too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError(408, 'timeout', 'the request did not arrive in time')
  return new ApiError(400, 'invalid_request', 'this is no request of HTTP/1.1')
}
