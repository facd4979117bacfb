// What doctor has found, for a person and for a program.
import { basename } from 'node:path'
import { type AttentionCost, onGpu, predictedSettings, predictGains } from '../../gain.js'
import type { Context, ContextH2o, LayerKind, Model, PrefillResult } from '../../index.js'
import { native } from '../../native/binding.js'
import type { NativeDevice, NativeSystemInfo } from '../../native/surface.js'
import type { Machine } from '../machine.js'
import { prefillLine } from '../run/summary.js'
import { gibibytes } from '../shell/format.js'
import { type AnswerSizes, BYTE_RATIOS, predictAnswers } from './answer.js'
import { describeQuality, measuredFor } from './quality.js'

/** As far as it came: what is missing failed, and the error that ended it says why. */
export interface Report {
  machine: Machine
  binary?: string
  system?: NativeSystemInfo
  model?: Pick<Model, 'path' | 'description' | 'architecture' | 'nCtxTrain'> & AnswerSizes['model']
  trial?: Trial
}

export interface Trial {
  /** Of the defaults of the model, which the trial's own sets are too small for. */
  h2o: ContextH2o
  /** of a position in the cache, all layers */
  kvBytes: number
  context: Pick<Context, 'nBatch' | 'nUbatch' | 'h2o'>
  result: PrefillResult
  /** Whether every logit of the last token is a number. */
  finite: boolean
  /** Of the processor that it ran on; undefined where there was another device. */
  attention: AttentionCost | undefined
}

export function renderText({ machine, binary, system, model, trial }: Report): string {
  const rows: [string, string | undefined][] = [
    ['h2o-llama', `${machine.h2o_llama}, Node.js ${machine.node}, ${machine.system}`],
    ['processor', `${machine.cpu}, ${machine.cores} cores, ${gibibytes(machine.memory_bytes)}`],
    ['binary', binary],
    ['features', system?.features.trim()],
    ...(system?.devices ?? []).map((device): [string, string] => ['device', describeDevice(device)]),
    ['model', model && `${basename(model.path)}: ${model.description}, trained on ${model.nCtxTrain} tokens`],
    ['trial', trial && describeTrial(trial)],
    ['layers', trial && describeLayers(trial.context.h2o)],
    ['gain', trial && describeGains(trial)],
    ['quality', trial && hasQuality(trial) ? describeQuality(trial.h2o.group) : undefined],
    ['answer', trial && model && describeAnswers({ model, ...trial })],
  ]
  return rows
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${name.padEnd(10)} ${text}\n`)
    .join('')
}

function describeDevice({ name, description, type, memoryFree, memoryTotal }: NativeDevice): string {
  const memory = memoryTotal > 0 ? `, ${gibibytes(memoryTotal)}, ${gibibytes(memoryFree)} of them free` : ''
  return `${name}: ${description} (${type})${memory}`
}

/** Only the default policy was asked. */
const hasQuality = ({ h2o }: Trial) => h2o.covered && h2o.select === 'query'

function describeTrial({ context, result, finite }: Trial): string {
  return `${prefillLine(result, context)}${finite ? '' : '; its logits are not numbers'}`
}

const kinds: Record<LayerKind, string> = {
  sparse: 'sparse',
  dense: 'dense',
  window: 'with a sliding window',
  recurrent: 'recurrent',
  none: 'without attention',
}

/** `5 of 34 sparse (5 11 17 23 29), 29 with a sliding window` */
function describeLayers({ layers }: ContextH2o): string {
  const parts = (Object.keys(kinds) as LayerKind[])
    .map((kind) => [kind, layers.flatMap((own, layer) => (own === kind ? [layer] : []))] as const)
    .filter(([kind, which]) => which.length > 0 || kind === 'sparse')
    .map(([kind, which]) => {
      const some = kind === 'sparse' && which.length > 0 && which.length < layers.length
      return `${which.length} ${kinds[kind]}${some ? ` (${which.join(' ')})` : ''}`
    })
  return `${layers.length}: ${parts.join(', ')}`
}

/** `predicted for ..., against dense: 4.4 at 8192, ...` */
function describeGains(trial: Trial): string {
  const { h2o, attention } = trial
  const gains = gainsOf(trial)
  if (gains.length === 0) return 'none'
  const { chunk, local, heavy } = predictedSettings(h2o)
  const times = gains.map(({ tokens, times }) => `${factor(times)} at ${tokens}`)
  const where = attention ? '' : ' on a GPU, from one H200'
  return `predicted for -ub ${chunk}, L=${local} H=${heavy}, against dense${where}: ${times.join(', ')} tokens`
}

const gainsOf = ({ h2o, attention }: Trial) => predictGains(h2o, attention ?? onGpu[h2o.select])

/** `predicted ...: 9.7 to 18 behind 8192, ... tokens` */
function describeAnswers(sizes: AnswerSizes): string | undefined {
  const all = slowdowns(sizes)
  if (all.length === 0) return undefined
  const range = (times: readonly number[]) => times.map(factor).join(' to ')
  const exact = all.map(({ tokens, exact }) => `${range(exact)} behind ${tokens}`).join(', ')
  const sparse = all.flatMap(({ sparse }) => (sparse ? [range(sparse)] : [])).join(', ')
  const auto = sparse === '' ? '' : `; with --h2o-decode auto: ${sparse}`
  return `predicted on a CPU, the time of a token over that of one behind no prompt: ${exact} tokens${auto}`
}

const slowdowns = (sizes: AnswerSizes) => predictAnswers(sizes, native().autoDecode)

const factor = (n: number) => n.toFixed(n < 10 ? 1 : 0)

export function toJson({ machine, binary, system, model, trial }: Report): object {
  return {
    ...machine,
    binary: binary ?? null,
    features: system?.features.trim() ?? null,
    devices: (system?.devices ?? []).map(({ memoryFree, memoryTotal, ...device }) => ({
      ...device,
      memory_free: memoryFree,
      memory_total: memoryTotal,
    })),
    model: model
      ? { path: model.path, description: model.description, architecture: model.architecture }
      : null,
    trial: trial
      ? {
          prompt_n: trial.result.tokens,
          path: trial.result.path,
          reason: trial.result.reason,
          schedule: trial.result.schedule,
          select: trial.context.h2o.select,
          chunks: trial.result.chunks,
          prompt_ms: trial.result.timings.promptMs,
          finite: trial.finite,
        }
      : null,
    layers: trial?.context.h2o.layers ?? [],
    query_heads_per_kv_head: trial?.h2o.group ?? null,
    quality: trial && hasQuality(trial) ? qualityOf(trial.h2o.group) : null,
    answers:
      trial && model
        ? slowdowns({ model, ...trial }).map(({ tokens, exact, sparse }) => ({
            n_prompt: tokens,
            predicted: ratios(exact),
            predicted_sparse: sparse && ratios(sparse),
          }))
        : [],
    gains: trial ? gainsOf(trial).map(({ tokens, times }) => ({ n_prompt: tokens, predicted: times })) : [],
  }
}

function qualityOf(group: number) {
  const { model, tokens, of, lost, won, ...other } = measuredFor(group)
  return { model, query_heads_per_kv_head: other.group, prompt_n: tokens, answers: of, lost, won }
}

const ratios = (times: readonly number[]) =>
  Object.fromEntries(times.map((time, i) => [`ratio_${BYTE_RATIOS[i]}`, time]))
