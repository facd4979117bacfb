// `h2o-prefill doctor`: what there is to compute with on this machine, and whether a sparse prefill works on it.

import type { Context, Model } from '../../index.js'
import { binaryPath, native } from '../../native/binding.js'
import { attentionCostOf } from '../attention-cost.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { type DoctorFlags, doctorOptions } from '../doctor/options.js'
import { type Report, renderText, type Trial, toJson } from '../doctor/report.js'
import { contextOptions } from '../flags/flags.js'
import { modelOptions } from '../flags/model-flags.js'
import { describeMachine } from '../machine.js'
import { abortable } from '../shell/abortable.js'
import { ExitCode } from '../shell/exit-codes.js'
import type { CliIo } from '../shell/io.js'

type Api = Pick<typeof import('../../index.js'), 'createContext' | 'listDevices'>

/** Enough for four chunks, and small for any model. */
const SMALL = { batchSize: 192, ubatchSize: 64, h2o: true, predict: 0 }
/** Sets that are smaller than the trial's prompt. */
const TRIAL = { ...SMALL, h2oLocal: 16, h2oHeavy: 16 }
const TRIAL_TOKENS = 256

const notes = `The trial is a prefill of ${TRIAL_TOKENS} tokens without meaning, in chunks of ${TRIAL.ubatchSize}. "dense" and a
reason in its line mean that H2O does not serve this model with these flags. The exit code is 4 if no binary loads, 3 if
the model does not, 5 if it does not fit into memory, 1 if the trial fails.`

export const main = commandMain<DoctorFlags>(
  {
    usage: 'doctor [-m FILE] [options]',
    description: 'Say what there is to compute with, and try a sparse prefill on it.',
    options: doctorOptions,
    notes,
  },
  (flags, io) => doctor(flags, io),
)

/** Whatever it finds until something fails is printed before the error. */
async function doctor(flags: DoctorFlags, io: CliIo): Promise<number> {
  const path = modelPath(flags, io)
  return abortable(io, async (output, signal) => {
    const report: Report = { machine: describeMachine() }
    try {
      report.system = native().systemInfo()
      report.binary = binaryPath()
      const api = await import('../../index.js')
      if (flags.verbose) api.setLogLevel('info')
      const model = await api.loadModel({ ...modelOptions({ ...flags, model: path }), signal })
      try {
        report.model = model
        report.trial = await tryOut(api, model, flags, signal)
      } finally {
        await model.dispose()
      }
    } finally {
      await output.write(flags.json ? `${JSON.stringify(toJson(report))}\n` : renderText(report))
    }
    return report.trial.finite ? ExitCode.ok : ExitCode.failure
  })
}

async function tryOut(api: Api, model: Model, flags: DoctorFlags, signal: AbortSignal): Promise<Trial> {
  const n = Math.min(TRIAL_TOKENS, model.nCtxTrain || TRIAL_TOKENS)
  const tokens = Int32Array.from({ length: n }, (_, i) => (i * 7919) % model.nVocab)
  const open = (sizes: typeof SMALL): Promise<Context> =>
    api.createContext(contextOptions({ ...flags, ...sizes }, model, n, () => {}))
  const ofDefaults = await open(SMALL)
  const { h2o, memory, nCtx } = ofDefaults
  await ofDefaults.dispose()
  const context = await open(TRIAL)
  try {
    const result = await context.prefill(tokens, { signal })
    return {
      context,
      h2o,
      kvBytes: memory.kvBytes / nCtx,
      result,
      finite: result.logits?.every(Number.isFinite) ?? false,
      attention: attentionCostOf(flags, api),
    }
  } finally {
    await context.dispose()
  }
}
