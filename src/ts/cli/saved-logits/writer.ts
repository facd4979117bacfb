// Writes a file of saved logits. It has its name only when it is whole.
import { WholeFile, wrongKind } from '../shell/whole-file.js'
import { encodeRow } from './encode.js'
import { firstSaved, HEAD_BYTES, MAGIC, rowBytes, type SavedHead } from './format.js'
import { wrongFile } from './reader.js'

export class LogitsWriter {
  readonly path: string
  readonly head: SavedHead
  readonly #whole: WholeFile
  #done = false

  private constructor(path: string, head: SavedHead, whole: WholeFile) {
    this.path = path
    this.head = head
    this.#whole = whole
  }

  /** `tokens` are those of all windows. @throws H2oError ERR_H2O_LOGITS_FILE where no file can be */
  static async open(path: string, head: SavedHead, tokens: Int32Array): Promise<LogitsWriter> {
    const wrong = await wrongKind(path)
    if (wrong !== undefined) throw wrongFile(path, wrong)
    let whole: WholeFile
    try {
      whole = await WholeFile.open(path)
    } catch (error) {
      throw unwritable(path, error)
    }
    const writer = new LogitsWriter(path, head, whole)
    const { nCtx, nVocab, nWindows } = head
    const bytes = Buffer.alloc(HEAD_BYTES)
    bytes.write(MAGIC, 'latin1')
    for (const [i, value] of [nCtx, nVocab, nWindows].entries()) bytes.writeInt32LE(value, 8 + 4 * i)
    const taken = tokens.subarray(0, nCtx * nWindows)
    try {
      await writer.#write(bytes)
      await writer.#write(new Uint8Array(taken.buffer, taken.byteOffset, taken.byteLength))
    } catch (error) {
      await writer.dispose()
      throw error
    }
    return writer
  }

  /** The logits of positions [pos, pos + n) of the window that is being written; calls follow each other. */
  async add(pos: number, n: number, logits: Float32Array): Promise<void> {
    const { nCtx, nVocab } = this.head
    const from = Math.max(pos, firstSaved(nCtx))
    const to = Math.min(pos + n, nCtx - 1)
    if (to <= from) return
    const bytes = new Uint8Array((to - from) * rowBytes(nVocab))
    for (let at = from; at < to; at++) {
      encodeRow(logits, (at - pos) * nVocab, nVocab, bytes, (at - from) * rowBytes(nVocab))
    }
    await this.#write(bytes)
  }

  /** All rows are there: gives the file its name. */
  async finish(): Promise<void> {
    try {
      await this.#whole.finish()
    } catch (error) {
      throw unwritable(this.path, error)
    }
    this.#done = true
  }

  /** Removes what was written, unless it is finished. */
  async dispose(): Promise<void> {
    if (this.#done) return
    this.#done = true
    await this.#whole.drop()
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      try {
        done += (await this.#whole.file.write(bytes, done, bytes.length - done)).bytesWritten
      } catch (error) {
        throw unwritable(this.path, error)
      }
    }
  }
}

const unwritable = (path: string, error: unknown) =>
  wrongFile(
    path,
    `it cannot be written (${(error as NodeJS.ErrnoException).code})`,
    'name a file of yours, on a disk with room for it',
  )
