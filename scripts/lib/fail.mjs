// Failure: an error whose message is meant for the person at the keyboard. `main` prints it without a stack.

export class Failure extends Error {
  /** @param {string} message what went wrong  @param {string} [todo] what the reader can do about it */
  constructor(message, todo) {
    super(todo ? `${message}\n\n${todo}` : message)
    this.name = 'Failure'
  }
}

/** Runs a script's body: a Failure ends it with its message and exit code 1, anything else with its stack. */
export async function main(body) {
  try {
    await body()
  } catch (error) {
    console.error(error instanceof Failure ? `error: ${error.message}` : error)
    process.exitCode = 1
  }
}
