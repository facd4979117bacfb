// What is wrong with a command line. Everything that throws one ends with exit code 2.

export const seeHelp = '--help lists the flags'

export class UsageError extends Error {
  readonly code = 'ERR_CLI_USAGE'
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.name = 'UsageError'
    this.hint = hint
  }
}
