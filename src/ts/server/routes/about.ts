/** What the server says of itself. */

import { basename } from 'node:path'
import { asksForDrafts } from '../../drafting.js'
import type { Service } from '../answer.js'
import { ApiError } from '../api-error.js'
import { optionFields } from '../fields.js'
import type { AddRoutes } from './route.js'

const started = Math.floor(Date.now() / 1000)

export const addAbout: AddRoutes = ({ app, service, isDraining, isLost }) => {
  const { pool, metrics } = service
  for (const url of ['/v1/models', '/models']) {
    app.get(url, async () => ({ object: 'list', data: [modelOf(service)] }))
  }
  app.get('/v1/models/*', async ({ params }) => {
    const { '*': id } = params as { '*': string }
    if (id === service.alias) return modelOf(service)
    throw new ApiError(
      404,
      'model_not_found',
      `there is no model ${id.slice(0, 200)}: ${service.alias} is served`,
    )
  })
  app.get('/props', async () => propertiesOf(service))
  app.get('/slots', async ({ query }) => {
    const { fail_on_no_slot } = query as { fail_on_no_slot?: string }
    if (fail_on_no_slot && pool.processing === pool.size)
      throw new ApiError(503, 'no_slot', 'no slot is free')
    return pool.slots.map((slot, id) => ({
      id,
      n_ctx: slot.nCtx,
      speculative: asksForDrafts(service.defaults.specType),
      is_processing: pool.isBusy(slot),
      n_prompt_tokens: slot.position,
    }))
  })
  const health = () => (isLost() ? 'lost' : 'ok')
  const ready = () => (isDraining() ? 'draining' : pool.isFull ? 'full' : health())
  for (const [url, status] of [
    ['/health', health],
    ['/v1/health', health],
    ['/ready', ready],
  ] as const) {
    app.get(url, async (_, reply) => reply.code(status() === 'ok' ? 200 : 503).send({ status: status() }))
  }
  app.get('/metrics', async (_, reply) => {
    reply.header('content-type', metrics.registry.contentType)
    return metrics.registry.metrics()
  })
}

/** As llama.cpp's server has it. */
function modelOf({ alias, model, context }: Service) {
  const meta = {
    n_vocab: model.nVocab,
    n_ctx: context.nCtx,
    n_ctx_train: model.nCtxTrain,
    n_embd: model.nEmbd,
    n_params: model.nParams,
    size: model.sizeBytes,
  }
  return { id: alias, object: 'model', created: started, owned_by: 'h2o-llama', meta }
}

/** As llama.cpp's server has them; `h2o` is ours. */
function propertiesOf(service: Service) {
  const { alias, model, context, template, pool, fingerprint } = service
  const { chunk, local, heavy, select, schedule, reason, denseTail, decode } = context.h2o
  const text = (token: number | null) =>
    token === null ? '' : model.detokenize([token], { unparseSpecial: true })
  return {
    default_generation_settings: { params: defaultsOf(service), n_ctx: context.nCtx },
    total_slots: pool.size,
    model_alias: alias,
    model_path: basename(model.path),
    modalities: { vision: false, audio: false, video: false },
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: true,
    chat_template: template ?? model.chatTemplate ?? '',
    bos_token: text(model.bosToken),
    eos_token: text(model.eosToken),
    build_info: fingerprint,
    is_sleeping: false,
    h2o: { chunk, local, heavy, select, schedule, reason, dense_tail: denseTail, decode },
  }
}

/** What a request gets that says nothing, under the names of its fields. */
function defaultsOf({ defaults, sampling }: Service) {
  const { nPredict = -1, stop = [] } = defaults
  const named = optionFields.flatMap(({ names: [name], option }) => {
    const value = sampling[option as keyof typeof sampling]
    return value === undefined || hidden.has(option) ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(named), n_predict: nPredict, stop: [stop].flat(), seed: defaults.seed ?? -1 }
}

/** Options that have several fields, or another form in their field. */
const hidden = new Set(['logprobs', 'jsonSchema', 'seed'])
