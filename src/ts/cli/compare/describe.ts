// A row's name and the path that it took, in words.

import { explainReason } from '../reasons.js'
import { count } from '../shell/format.js'
import type { Row, RowHead } from './outcome.js'

/** `single-pass votes -b 1536 -ub 512 L=256 H=255 dense-tail=64` */
export function describeRow({ schedule, select, n_batch, n_ubatch, h2o }: RowHead): string {
  const tail = h2o.dense_tail > 0 ? ` dense-tail=${h2o.dense_tail}` : ''
  return `${schedule} ${select} -b ${n_batch} -ub ${n_ubatch} L=${h2o.local} H=${h2o.heavy}${tail}`
}

/** `h2o, 120 chunks` or `dense (off: H2O is switched off)` */
export function describePath({ path, reason, chunks, prompt_n, sparse_n, n_batch, n_ubatch }: Row): string {
  if (path === 'dense') {
    const why = reason && explainReason(reason, { nBatch: n_batch, nUbatch: n_ubatch })
    return why ? `dense (${reason}: ${why})` : 'dense'
  }
  const rest = prompt_n - sparse_n
  return `h2o, ${count(chunks, 'chunk')}${rest > 0 ? `, but ${rest} of ${prompt_n} prompt tokens dense` : ''}`
}
