// Failure: an error whose message is meant for the person at the keyboard. `main` prints it without a stack.

export class Failure extends Error {
  exitCode = 1

  /** @param {string} message what went wrong  @param {string} [todo] what the reader can do about it */
  constructor(message, todo) {
    super(todo ? `${message}\n\n${todo}` : message)
    this.name = 'Failure'
  }
}

/** Options that make no sense. */
export class UsageFailure extends Failure {
  exitCode = 2
}

/**
 * Runs a script's body: a Failure ends it with its message and exit code, as does what parseArgs does not know;
 * anything else with its stack.
 */
export async function main(body) {
  try {
    await body()
  } catch (error) {
    const known = String(error?.code).startsWith('ERR_PARSE_ARGS') ? new UsageFailure(error.message) : error
    console.error(known instanceof Failure ? `error: ${known.message}` : known)
    process.exitCode = known?.exitCode ?? 1
  }
}
