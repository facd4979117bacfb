// Reads a file of saved logits, row by row: a long one is many gigabytes.
import { type FileHandle, open } from 'node:fs/promises'
import { H2oError } from '../../errors.js'
import { wrongKind } from '../shell/whole-file.js'
import {
  fileBytes,
  firstSaved,
  HEAD_BYTES,
  MAGIC,
  rowBytes,
  rowOf,
  rowsAt,
  type SavedHead,
  type SavedRow,
  savedPerWindow,
} from './format.js'

export class SavedLogits {
  readonly path: string
  readonly head: SavedHead
  /** nWindows * nCtx of them */
  readonly tokens: Int32Array
  readonly #file: FileHandle

  private constructor(path: string, head: SavedHead, tokens: Int32Array, file: FileHandle) {
    this.path = path
    this.head = head
    this.tokens = tokens
    this.#file = file
  }

  /** @throws H2oError ERR_H2O_LOGITS_FILE for a file that is not there, of another kind, cut off or made up */
  static async open(path: string): Promise<SavedLogits> {
    const wrong = await wrongKind(path)
    if (wrong !== undefined) throw wrongFile(path, wrong)
    let file: FileHandle
    try {
      file = await open(path, 'r')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw wrongFile(path, code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`)
    }
    try {
      const head = await readHead(path, file)
      return new SavedLogits(path, head, await readTokens(path, file, head), file)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** The rows of positions `from` up to, but without, `to` of a window; both within [nCtx/2, nCtx - 1]. */
  async rows(window: number, from: number, to: number): Promise<SavedRow[]> {
    const { nCtx, nVocab } = this.head
    const bytes = new Uint8Array((to - from) * rowBytes(nVocab))
    const index = window * savedPerWindow(nCtx) + from - firstSaved(nCtx)
    await readAll(this.path, this.#file, bytes, rowsAt(this.head) + index * rowBytes(nVocab))
    return Array.from({ length: to - from }, (_, i) => {
      const row = rowOf(bytes, i, nVocab)
      if (row.scale >= 0 && row.scale < 1 && Number.isFinite(row.min)) return row
      throw wrongFile(
        this.path,
        `the row of position ${from + i} of window ${window} is not one of log probabilities`,
      )
    })
  }

  dispose(): Promise<void> {
    return this.#file.close()
  }
}

export function wrongFile(path: string, why: string, hint?: string): H2oError {
  return new H2oError('ERR_H2O_LOGITS_FILE', `${path}: ${why}`, { details: { path }, ...(hint && { hint }) })
}

async function readHead(path: string, file: FileHandle): Promise<SavedHead> {
  const stats = await file.stat()
  if (!stats.isFile()) throw wrongFile(path, 'it is no file')
  const bytes = Buffer.alloc(HEAD_BYTES)
  if (stats.size < HEAD_BYTES) throw wrongFile(path, 'it is no file of saved logits')
  await readAll(path, file, bytes, 0)
  if (bytes.toString('latin1', 0, 8) !== MAGIC) throw wrongFile(path, 'it is no file of saved logits')
  const head = { nCtx: bytes.readInt32LE(8), nVocab: bytes.readInt32LE(12), nWindows: bytes.readInt32LE(16) }
  if (head.nCtx < 3 || head.nVocab < 1 || head.nWindows < 1) {
    const { nCtx, nVocab, nWindows } = head
    throw wrongFile(path, `it names n_ctx ${nCtx}, n_vocab ${nVocab} and n_chunk ${nWindows}`)
  }
  if (stats.size !== fileBytes(head)) {
    const rest =
      stats.size < fileBytes(head) ? 'it was cut off, or is still being written' : 'there is more behind it'
    throw wrongFile(path, `it has ${stats.size} bytes and should have ${fileBytes(head)}: ${rest}`)
  }
  return head
}

async function readTokens(path: string, file: FileHandle, head: SavedHead): Promise<Int32Array> {
  const tokens = new Int32Array(head.nCtx * head.nWindows)
  await readAll(path, file, new Uint8Array(tokens.buffer), HEAD_BYTES)
  if (tokens.some((token) => token < 0 || token >= head.nVocab)) {
    throw wrongFile(path, `it has tokens outside of its vocabulary of ${head.nVocab}`)
  }
  return tokens
}

async function readAll(path: string, file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done)
    if (bytesRead === 0) throw wrongFile(path, 'it ended while it was read')
    done += bytesRead
  }
}
