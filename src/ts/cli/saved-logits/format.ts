// The file of `llama-perplexity --save-all-logits`, which
// --kl-divergence-base names again. All numbers are little-endian:
//
//   "_logits_"                            8 bytes
//   n_ctx, n_vocab, n_chunk               int32 each
//   tokens                                int32[n_chunk][n_ctx], as the text has them: BOS is put in by whoever reads
//   rows                                  n_chunk times one for each position in [n_ctx/2, n_ctx - 1)
//
// A row is float32 scale, float32 min, uint16[n_vocab], and one uint16 more where n_vocab is odd. The log probability
// of token i is scale * code[i] + min: 65536 steps between the likeliest token and one that is exp(16) times less
// likely.

export const MAGIC = '_logits_'
export const HEAD_BYTES = 20

export interface SavedHead {
  /** tokens of a window */
  nCtx: number
  nVocab: number
  nWindows: number
}

/** One row as it lies in a file. */
export interface SavedRow {
  scale: number
  min: number
  /** nVocab of them */
  codes: Uint16Array
}

/** The first position of a window that has a row. */
export const firstSaved = (nCtx: number) => Math.floor(nCtx / 2)

/** The last token of a window predicts nothing, so it has none. */
export const savedPerWindow = (nCtx: number) => nCtx - 1 - firstSaved(nCtx)

/** A multiple of 4. */
export const rowBytes = (nVocab: number) => 2 * (2 * Math.ceil(nVocab / 2) + 4)

export const rowsAt = ({ nCtx, nWindows }: SavedHead) => HEAD_BYTES + 4 * nCtx * nWindows

export function fileBytes(head: SavedHead): number {
  return rowsAt(head) + head.nWindows * savedPerWindow(head.nCtx) * rowBytes(head.nVocab)
}

/** A row of `bytes`, which begin with one: a view, no copy. */
export function rowOf(bytes: Uint8Array, index: number, nVocab: number): SavedRow {
  const at = bytes.byteOffset + index * rowBytes(nVocab)
  const [scale = Number.NaN, min = Number.NaN] = new Float32Array(bytes.buffer, at, 2)
  return { scale, min, codes: new Uint16Array(bytes.buffer, at + 8, nVocab) }
}
