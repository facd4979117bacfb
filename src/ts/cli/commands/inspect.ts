// `h2o-prefill inspect`: which positions each layer and head keeps of a prompt, chunk by chunk, and how much of what
// dense attention would have looked at they hold.

import type { Context, H2oTraceEntry, Model, PrefillProgress, PrefillResult } from '../../index.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { contextOptions } from '../flags/flags.js'
import { Columns } from '../inspect/columns.js'
import { renderHtml } from '../inspect/html.js'
import { toJson } from '../inspect/json.js'
import { type InspectFlags, inspectOptions } from '../inspect/options.js'
import { Recording } from '../inspect/recording.js'
import { type Report, reportOf } from '../inspect/report.js'
import { renderText } from '../inspect/text.js'
import { explainReason } from '../reasons.js'
import { readPrompt } from '../run/prompt.js'
import { inSession, type Session, warner } from '../session.js'
import { requireSeveralChunks } from '../several-chunks.js'
import { ExitCode } from '../shell/exit-codes.js'
import { mebibytes } from '../shell/format.js'
import type { CliIo } from '../shell/io.js'
import { checkNoInput, checkTarget, writeParts } from '../shell/output-file.js'
import { createProgress } from '../shell/progress.js'
import { UsageError } from '../shell/usage-error.js'

type Api = Pick<typeof import('../../index.js'), 'loadModel' | 'createContext' | 'setLogLevel'>

const notes = `The prompt is prefilled once with everything recorded, dense attention mass included, which takes about as long as a
dense prefill without flash attention, and --runs - 1 times to see whether the same positions are kept. Heat maps go to
the HTML file, the table to stdout, everything else to stderr. Exit codes: 0 ok, 1 run-time failure (also where H2O does
not serve the model, and where two runs differ), 2 usage (also a prompt of no more than one chunk), 3 model missing or
invalid, 4 no usable binary or device, 5 memory or context overflow, 130 Ctrl-C or SIGTERM.`

export const main = commandMain<InspectFlags>(
  {
    usage: 'inspect [-m FILE] [-p TEXT | -f FILE] [options]',
    description:
      'Show which positions of a prompt H2O keeps, and what dense attention would have seen besides.',
    options: inspectOptions,
    notes,
  },
  (flags, io) => inspect(flags, io, () => import('../../index.js')),
)

/** The command with its flags parsed; `loadApi` is called when the command line has proved right. */
export async function inspect(flags: InspectFlags, io: CliIo, loadApi: () => Promise<Api>): Promise<number> {
  const warn = warner(io)
  requireSeveralChunks(flags.batchSize, flags.ubatchSize, 'lower -ub, or give 3 or more of it to -b')
  if (flags.h2oLocal === 0 && flags.h2oHeavy === 0) {
    throw new UsageError('--h2o-local and --h2o-heavy are both 0: that switches H2O off')
  }
  await checkTarget('-o', flags.output)
  await checkNoInput('-o', flags.output, flags)
  const text = await readPrompt(flags, () => io.stdin, warn)
  const path = modelPath(flags, io)

  return inSession(io, warn, async (session) =>
    inspectText(session, { ...flags, model: path }, text, await loadApi()),
  )
}

type Flags = InspectFlags & { model: string }

async function inspectText(session: Session, flags: Flags, text: string, api: Api): Promise<number> {
  const { signal, output } = session
  const model = await session.loadModel(api, flags)
  const tokens = await model.tokenizeAsync(text, { addSpecial: true, parseSpecial: true, signal })
  checkLength(tokens.length, flags.ubatchSize)

  const report = await record(session, flags, api, model, tokens)
  const bytes = await writeParts(flags.output, renderHtml(report), signal)
  await output.write(flags.json ? `${JSON.stringify(toJson(report, flags.output))}\n` : renderText(report))
  session.say(`inspect: wrote ${flags.output} (${mebibytes(bytes)})`)
  const { runJaccard } = report.all
  if (runJaccard === null || runJaccard === 1) return ExitCode.ok
  session.say(`h2o-prefill: error: two runs kept different positions: Jaccard ${runJaccard.toFixed(6)}`)
  return ExitCode.failure
}

function checkLength(nTokens: number, ubatchSize: number): void {
  if (nTokens > ubatchSize) return
  throw new UsageError(
    `the prompt has ${nTokens} tokens, no more than one chunk (-ub ${ubatchSize}): dense attention reads it, and nothing is kept`,
    nTokens >= 4
      ? `give a longer prompt, or a smaller -ub: -ub ${Math.floor(nTokens / 4)} makes 4 chunks or more`
      : 'give a longer prompt',
  )
}

async function record(
  session: Session,
  flags: Flags,
  api: Api,
  model: Model,
  tokens: Int32Array,
): Promise<Report> {
  const columns = new Columns(tokens.length, flags.columns)
  let recording: Recording | undefined
  let first: { context: Context; result: PrefillResult } | undefined
  for (let i = 0; i < flags.runs; i++) {
    // a record of the sets is all that the other runs need
    const context = await open(session, flags, api, model, tokens.length, i === 0 ? 'mass' : true)
    recording ??= new Recording({ local: context.h2o.local, nSink: flags.sink, columns })
    const take = i === 0 ? recording.add.bind(recording) : recording.compare.bind(recording)
    session.say(`inspect: run ${i + 1}/${flags.runs}`)
    const result = await prefill(session, context, tokens, take)
    first ??= { context, result }
    await session.drop(context)
  }
  const { context, result } = first as NonNullable<typeof first>
  return reportOf(
    {
      model: flags.model,
      description: model.description,
      nPrompt: result.tokens,
      denseTail: result.denseTail,
      schedule: context.h2o.schedule,
      select: context.h2o.select,
      nBatch: context.nBatch,
      nUbatch: context.nUbatch,
      local: context.h2o.local,
      heavy: context.h2o.heavy,
      nSink: flags.sink,
      runs: flags.runs,
      calls: result.calls,
    },
    (recording as Recording).layers,
  )
}

async function open(
  session: Session,
  flags: Flags,
  api: Api,
  model: Model,
  nTokens: number,
  trace: true | 'mass',
): Promise<Context> {
  const options = contextOptions({ ...flags, h2o: true, predict: 0 }, model, nTokens, session.onWarning)
  const h2o = { ...(options.h2o || {}), trace }
  const context = session.keep(await api.createContext({ ...options, h2o }))
  const { reason } = context.h2o
  if (reason !== null) throw denseError(reason, context)
  return context
}

async function prefill(
  { io, signal }: Session,
  context: Context,
  tokens: Int32Array,
  take: (entries: H2oTraceEntry[]) => void,
): Promise<PrefillResult> {
  const progress = createProgress(io.stderr, tokens.length)
  const onProgress = (p: PrefillProgress) => {
    progress.update(p)
    if (p.call?.path === 'h2o') take(context.takeTrace())
  }
  try {
    const result = await context.prefill(tokens, { logits: 'none', reuse: false, signal, onProgress })
    if (result.path === 'dense' && result.reason) throw denseError(result.reason, context)
    return result
  } finally {
    progress.end()
  }
}

function denseError(reason: NonNullable<PrefillResult['reason']>, context: Context): Error {
  return new Error(
    `there is nothing to inspect, the prefill is dense (${reason}: ${explainReason(reason, context)})`,
  )
}
