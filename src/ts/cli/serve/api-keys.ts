// --api-key and --api-key-file, as llama.cpp's server reads them.
import { readTextFile } from '../shell/text-file.js'
import { UsageError } from '../shell/usage-error.js'

export interface KeyFlags {
  apiKey?: string
  apiKeyFile?: string
}

/** @throws UsageError for a file that cannot be read, and for a key that was given and is empty */
export async function readApiKeys({ apiKey, apiKeyFile }: KeyFlags): Promise<string[]> {
  const given = (apiKey ?? '').split(',').map((key) => key.trim())
  const lines =
    apiKeyFile === undefined ? [] : (await readTextFile(apiKeyFile, 'the API keys in ')).split('\n')
  const fromFile = lines.map((line) => line.trim()).filter((line) => !line.startsWith('#'))
  const keys = [...given, ...fromFile].filter((key) => key !== '')
  if (keys.length === 0 && (apiKey !== undefined || apiKeyFile !== undefined)) {
    throw new UsageError('there is no API key in what was given', 'leave it out to let everybody ask')
  }
  return keys
}
