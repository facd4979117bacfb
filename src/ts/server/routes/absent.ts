/** What other servers have and this one does not: each says why, with llama.cpp's status and type. */

import { ApiError } from '../api-error.js'
import type { AddRoutes } from './route.js'

const embeddings =
  'embeddings are not served: a context here generates text. Serve an embedding model with llama-server --embeddings'
const reranking =
  'reranking is not served: a context here generates text. Serve a reranking model with llama-server --reranking'
const infill =
  'infill is not served: give /v1/completions the prompt with the fill-in-the-middle tokens of the model'
const slots = 'slots are neither saved nor erased: what was read is kept by itself (--cache-ram)'
const properties = 'properties are set by flags, when the server starts'

// biome-ignore format: a table
const absent: Readonly<Record<string, readonly string[]>> = {
  [embeddings]: ['/v1/embeddings', '/embeddings', '/embedding'],
  [reranking]:  ['/v1/rerank', '/v1/reranking', '/rerank', '/reranking'],
  [infill]:     ['/infill'],
  [slots]:      ['/slots/:id'],
  [properties]: ['/props'],
}

export const addAbsent: AddRoutes = ({ app }) => {
  for (const [message, urls] of Object.entries(absent)) {
    for (const url of urls) {
      app.post(url, () => {
        throw new ApiError(501, 'not_supported', message)
      })
    }
  }
}
