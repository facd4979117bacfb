// What doctor has found, for a person and for a program.
import { basename } from 'node:path'
import type { Context, Model, PrefillResult } from '../../index.js'
import type { NativeDevice, NativeSystemInfo } from '../../native/surface.js'
import { gibibytes } from '../format.js'
import type { Machine } from '../machine.js'
import { prefillLine } from '../summary.js'

/** As far as it came: what is missing failed, and the error that ended it says why. */
export interface Report {
  machine: Machine
  binary?: string
  system?: NativeSystemInfo
  model?: Pick<Model, 'path' | 'description' | 'architecture' | 'nCtxTrain'>
  trial?: Trial
}

export interface Trial {
  context: Pick<Context, 'nBatch' | 'nUbatch' | 'h2o'>
  result: PrefillResult
  /** Whether every logit of the last token is a number. */
  finite: boolean
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

function describeTrial({ context, result, finite }: Trial): string {
  return `${prefillLine(result, context)}${finite ? '' : '; its logits are not numbers'}`
}

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
  }
}
