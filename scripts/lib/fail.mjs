// Failure: an error whose message is meant for the person at the keyboard. `main` prints it without a stack.

export class Failure extends Error {
  /** @param {string} message what went wrong  @param {string} [todo] what the reader can do about it */
  constructor(message, todo) {
    super(todo ? `${message}\n\n${todo}` : message)
    this.name = 'Failure'
  }
}

/**
 * Runs a script's body: a Failure ends it with its message and exit code 1, what parseArgs does not know with exit code 2,
 * anything else with its stack.
 */
export async function main(body) {
  try {
    await body()
  } catch (error) {
    const isUsage = String(error?.code).startsWith('ERR_PARSE_ARGS')
    console.error(isUsage || error instanceof Failure ? `error: ${error.message}` : error)
    process.exitCode = isUsage ? 2 : 1
  }
}
