/** JSON whose strings are whole: a text may have been cut inside of a character. */

/** With U+FFFD for half a character, as tokenize() has it. Throws what JSON.stringify throws. */
export function wellFormedJson(value: unknown): string {
  return JSON.stringify(value, wellFormed)
}

function wellFormed(_: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if (Object.keys(value).every((key) => key.isWellFormed())) return value
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key.toWellFormed(), of]))
}

/** The same of a JSON text, whose members keep their order. */
export function wellFormedJsonText(json: string): string {
  const escapes = /\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}/gi
  return json.toWellFormed().replace(escapes, (found) => (found.length === 6 ? '\\ufffd' : found))
}
