/** Figures and failures, in words. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const count = (n: number): string => whole.format(n)

/** `0.42 s`, `8.3 s`, `37 s`, `2 min 5 s` */
export function seconds(ms: number): string {
  const s = ms / 1000
  if (s < 1) return `${s.toFixed(2)} s`
  if (s < 9.95) return `${s.toFixed(1)} s`
  const rounded = Math.round(s)
  return rounded < 60 ? `${rounded} s` : `${Math.floor(rounded / 60)} min ${rounded % 60} s`
}

export const pathName = { h2o: 'sparse attention', dense: 'dense attention' } as const

/** What a request failed with, said to a person. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

interface ErrorBody {
  error?: { message?: string; code?: string }
}

/** @param retryAfter the header, in seconds */
export function failureOf(status: number, body: unknown, retryAfter: string | null): Failure {
  const { message = `The server answered with status ${status}.`, code = '' } =
    (body as ErrorBody | undefined)?.error ?? {}
  const words = byCode(message)[code] ?? byStatus(retryAfter)[status] ?? sentence(message)
  return new Failure(words, status)
}

const byCode = (message: string): Record<string, string> => ({
  context_length_exceeded: `This is too long. ${sentence(message)} Shorten the text, or start the server with a larger context (-c).`,
  request_too_large:
    'This is larger than the server takes. Shorten the text, or start the server with a larger --max-body.',
})

const byStatus = (retryAfter: string | null): Record<number, string> => ({
  401: 'The server wants an API key. Give it above, then try again.',
  429: `Too many requests wait already. Try again ${retryAfter ? `in ${retryAfter} seconds` : 'in a while'}.`,
  503: 'The server is busy or is being stopped. Try again in a while; if it stays so, start it again.',
  504: 'This took longer than the server allows. Shorten the text, or start the server with a larger --timeout.',
})

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
