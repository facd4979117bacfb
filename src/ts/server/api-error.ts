/** What a request fails with: OpenAI's body, with our code where OpenAI has none. */

import { H2oError } from '../errors.js'

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string; h2o_code?: string }
}

export interface ApiErrorOptions {
  /** The field of the request. */
  param?: string
  /** The code of the H2oError behind it. */
  h2oCode?: string
  headers?: Record<string, string>
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    /** OpenAI's code, or ours. */
    readonly code: string,
    message: string,
    readonly options: ApiErrorOptions = {},
  ) {
    super(begin(message, 2000)) // which may quote what a client sent
  }

  get body(): ErrorBody {
    const { param, h2oCode } = this.options
    const { message, code, status } = this
    return {
      error: {
        message,
        type: typeOf(status),
        param: param === undefined ? null : begin(param, 200),
        code,
        ...(h2oCode !== undefined && { h2o_code: h2oCode }),
      },
    }
  }
}

const begin = (text: string, most: number) =>
  text.length > most ? `${text.slice(0, most).toWellFormed()} ...` : text

/** The request went away: nobody is there to be answered. */
export class ClientLeft extends Error {
  constructor() {
    super('the client left')
  }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 404) return 'not_found_error'
  if (status === 429) return 'rate_limit_error'
  if (status === 501) return 'not_supported_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

/** Failures that a request itself brings about; what is not here is the server's. */
const ofTheRequest: ReadonlyMap<string, string> = new Map([
  ['ERR_H2O_PROMPT_TOO_LONG', 'context_length_exceeded'],
  ['ERR_H2O_EMPTY_PROMPT', 'ERR_H2O_EMPTY_PROMPT'],
  ['ERR_H2O_TOKEN_OUT_OF_RANGE', 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
  ['ERR_H2O_INVALID_ARGUMENT', 'ERR_H2O_INVALID_ARGUMENT'],
  ['ERR_H2O_CHAT_TEMPLATE', 'ERR_H2O_CHAT_TEMPLATE'],
  ['ERR_H2O_SAMPLING', 'ERR_H2O_SAMPLING'],
])

/** Anything that was thrown, as what the client is told. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof H2oError) {
    const code = ofTheRequest.get(error.code)
    const message = code && error.hint ? `${error.message}: ${error.hint}` : error.message
    return new ApiError(code === undefined ? 500 : 400, code ?? error.code, message, {
      h2oCode: error.code,
    })
  }
  return toApiErrorOfFastify(error) ?? new ApiError(500, 'internal_error', 'the server failed')
}

interface FastifyFailure {
  statusCode?: unknown
  code?: unknown
  message?: unknown
  validation?: { instancePath: string; params?: { additionalProperty?: string; missingProperty?: string } }[]
}

function toApiErrorOfFastify(error: unknown): ApiError | undefined {
  const { statusCode, code, message, validation } = (error ?? {}) as FastifyFailure
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return undefined
  const [first] = validation ?? []
  const path = first?.instancePath.split('/').slice(1) ?? []
  const { additionalProperty, missingProperty } = first?.params ?? {}
  const param = [...path, additionalProperty ?? missingProperty ?? []].flat().join('.')
  const unknown = additionalProperty === undefined ? '' : `: ${additionalProperty}`
  const said =
    statusCode === 415
      ? 'a body is JSON, with the header content-type: application/json'
      : `${message}${unknown}`
  return new ApiError(statusCode, codes[String(code)] ?? 'invalid_request', said, {
    ...(param && { param }),
  })
}

const codes: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
}
