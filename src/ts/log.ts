/** What llama.cpp logs. */

import { invalidArgument } from './errors.js'
import { native } from './native/binding.js'
import { not } from './validate.js'

const levels = { debug: 1, info: 2, warn: 3, error: 4, none: 5 } as const

export type LogLevel = keyof typeof levels

/** Native log lines of this level and above go to stderr, in the whole process. 'none' at the start. */
export function setLogLevel(level: LogLevel): void {
  if (typeof level !== 'string' || !Object.hasOwn(levels, level)) {
    throw invalidArgument(`log level must be one of ${Object.keys(levels).join(', ')}${not(level)}`, {
      level,
    })
  }
  native().setLogLevel(levels[level])
}
