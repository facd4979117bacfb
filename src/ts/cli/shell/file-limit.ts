// A limit on open files: modules are loaded as they are needed, so any command may meet it anywhere.
import { H2oError } from '../../errors.js'

/** The error itself, or where it is such a limit one that says so. */
export function withFileLimit(error: unknown): unknown {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  if (code !== 'EMFILE' && code !== 'ENFILE') return error
  return new H2oError('ERR_H2O_FILE_LIMIT', 'too few files may be open', { cause: error })
}
