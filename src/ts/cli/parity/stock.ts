// Stock llama.cpp as the reference: a window at a time, by the program that test/parity/stock builds on the unpatched
// pin.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { H2oError } from '../../errors.js'
import type { FlashAttn, KvType } from '../../index.js'
import { packageRoot } from '../../native/binding.js'
import { type Reference, rowsOf } from '../compare/reference.js'

export interface StockOptions {
  program: string
  model: string
  nVocab: number
  /** of a window, of a call and of a chunk */
  nCtx: number
  nBatch: number
  nUbatch: number
  nThreads: number
  nGpuLayers: number | undefined
  flashAttn: FlashAttn
  typeK: KvType
  typeV: KvType
  /** positions before it are not kept */
  first: number
}

/** Where `npm run build:stock` puts it. @throws H2oError ERR_H2O_NO_BINARY where nothing is */
export function stockProgram(given: string | undefined): string {
  const exe = process.platform === 'win32' ? '.exe' : ''
  const program = given ?? join(packageRoot(), 'build-stock', 'bin', `stock-logits${exe}`)
  if (existsSync(program)) return program
  throw noStock(`stock llama.cpp is not built: there is no ${program}`, program)
}

function noStock(message: string, program: string, cause?: unknown): H2oError {
  return new H2oError('ERR_H2O_NO_BINARY', message, {
    hint: 'npm run build:stock in a clone of the repository builds stock-logits; or give a saved file: --kl-divergence-base FILE',
    details: { program },
    cause,
  })
}

/** Its logits lie in a temporary file, of one window at a time. */
export async function stockReference(options: StockOptions): Promise<Reference> {
  const folder = await mkdtemp(join(tmpdir(), 'h2o-stock-'))
  const tokensFile = join(folder, 'tokens.i32')
  const logitsFile = join(folder, 'logits.f32')
  const { first, nVocab } = options
  return {
    async begin(_, tokens, signal) {
      await writeFile(tokensFile, tokens)
      await rm(logitsFile, { force: true })
      await runStock(options, tokensFile, logitsFile, signal)
      await checkLogits(options, logitsFile, tokens.length)
    },
    async call({ pos, n, counts }) {
      const from = Math.max(pos, first)
      if (!counts || pos + n <= from) return null
      const logits = new Float32Array(n * nVocab)
      const file = await open(logitsFile)
      try {
        const part = logits.subarray((from - pos) * nVocab)
        const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
        for (let done = 0; done < bytes.length; ) {
          const at = (from - first) * nVocab * 4 + done
          const { bytesRead } = await file.read(bytes, done, bytes.length - done, at)
          if (bytesRead === 0) throw new Error(`the logits of ${options.program} were cut short`)
          done += bytesRead
        }
      } finally {
        await file.close()
      }
      return rowsOf(logits)
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  }
}

async function runStock(
  options: StockOptions,
  tokens: string,
  logits: string,
  signal: AbortSignal,
): Promise<void> {
  const { program, model, nCtx, nBatch, nUbatch, nThreads, nGpuLayers, flashAttn, typeK, typeV, first } =
    options
  const numbers = { '-c': nCtx, '-b': nBatch, '-ub': nUbatch, '-t': nThreads, '--from': first }
  const names = { '-fa': flashAttn, '-ctk': typeK, '-ctv': typeV }
  const layers = nGpuLayers === undefined ? {} : { '-ngl': nGpuLayers }
  const flags = Object.entries({ ...numbers, ...names, ...layers }).flatMap(([name, value]) => [
    name,
    String(value),
  ])
  try {
    // resolved: a bare name would be looked for in PATH alone
    await promisify(execFile)(resolve(program), [model, tokens, logits, ...flags], {
      signal,
      maxBuffer: 1 << 24,
    })
  } catch (error) {
    signal.throwIfAborted()
    throw failureOf(program, error as Ended)
  }
}

type Ended = NodeJS.ErrnoException & { stderr?: string; signal?: string | null }

/** Without the command line that Node tells, which is of temporary files. */
function failureOf(program: string, error: Ended): Error {
  const { code, syscall, stderr, signal } = error
  if (syscall !== undefined) return noStock(`${program} cannot be run: ${code}`, program, error)
  const said = stderr?.trim().split('\n').at(-1) ?? ''
  if (said.startsWith('stock-logits: ')) return new Error(said, { cause: error })
  const end = `${program} ended with ${signal ?? `status ${code}`}`
  return new Error(said === '' ? end : `${end}: ${said}`, { cause: error })
}

/** Anything can be named by --stock. */
async function checkLogits({ program, nVocab, first }: StockOptions, file: string, nTokens: number) {
  const expected = (nTokens - first) * nVocab * 4
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size === expected) return
  const wrote = size === 0 ? 'no logits' : `${size} bytes of logits in place of ${expected}`
  throw noStock(`${program} is not the stock-logits of this version: it wrote ${wrote}`, program)
}
