// `h2o-prefill compare`: what H2O changes in a model's predictions, held against dense attention over the same text.

import { basename } from 'node:path'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { type ContextApi, openGroup } from '../compare/contexts.js'
import { describeRow } from '../compare/describe.js'
import { toJson } from '../compare/json.js'
import { layOut } from '../compare/layout.js'
import { type CompareFlags, compareOptions } from '../compare/options.js'
import type { Row } from '../compare/outcome.js'
import { contextReference, savedReference, savingReference } from '../compare/reference.js'
import { settingGroups } from '../compare/settings.js'
import { renderText } from '../compare/text.js'
import { judge } from '../compare/thresholds.js'
import type { Contender } from '../compare/walk.js'
import { Windows } from '../compare/windows.js'
import type { SavedLogits } from '../saved-logits/reader.js'
import { readText, skipOf, windowsOf } from '../saved-logits/text.js'
import { inSession, type Session, warner } from '../session.js'
import { ExitCode } from '../shell/exit-codes.js'
import type { CliIo } from '../shell/io.js'
import { UsageError } from '../shell/usage-error.js'

type Api = ContextApi & Pick<typeof import('../../index.js'), 'loadModel' | 'setLogLevel'>

const notes = `The text is cut into windows. In each, a dense context and one per setting read the same prompt. Then all of them read the
continuation, in calls of at most a chunk, which are dense: what is lost there is what the KV cache that the sparse
prefill left behind has lost. The report goes to stdout, everything else to stderr. Exit codes: 0 ok, 1 run-time failure
(also where H2O does not serve the model), 2 usage, 3 model missing or invalid, 4 no usable binary or device, 5 memory,
6 a threshold does not hold, 130 Ctrl-C or SIGTERM.`

export const main = commandMain<CompareFlags>(
  {
    usage: 'compare [-m FILE] -f FILE [options]',
    description: 'Compare the predictions after H2O prefills with those after dense ones.',
    options: compareOptions,
    notes,
  },
  (flags, io) => compare(flags, io, () => import('../../index.js')),
)

/** The command with its flags parsed; `loadApi` is called when the command line has proved right. */
export async function compare(flags: CompareFlags, io: CliIo, loadApi: () => Promise<Api>): Promise<number> {
  const warn = warner(io)
  if (flags.maxContinuationPplRatio !== undefined && flags.continuation < 2) {
    throw new UsageError(
      `--max-continuation-ppl-ratio needs a continuation of two tokens or more, not -n ${flags.continuation}`,
    )
  }
  settingGroups(flags) // refuses what is wrong before anything is loaded
  const text = await readText(flags, io, warn)
  const path = modelPath(flags, io)

  return inSession(io, warn, async (session) =>
    compareText(session, { ...flags, model: path }, text, await loadApi()),
  )
}

async function compareText(
  session: Session,
  flags: CompareFlags & { model: string },
  text: string | undefined,
  api: Api,
): Promise<number> {
  const start = performance.now()
  const groups = settingGroups(flags)
  const chunk = Math.max(...flags.ubatchSize)
  const { continuation, chunks } = flags
  const windows = await Windows.open(session, api, flags, text, (nTokens, nCtxTrain, saved) => {
    const ctxSize = windowsOf(flags.ctxSize, saved)
    const skip = skipOf(flags.skip, chunk, saved)
    return layOut({ nTokens, nCtxTrain, chunk, ctxSize, continuation, chunks, skip })
  })
  const { model, layout, saved } = windows
  let writer = windows.writer

  const rows: Row[] = []
  for (const settings of groups) {
    const opened = await openGroup(api, model, settings, layout, flags, saved === undefined, session.warn)
    const group = session.keep(opened)
    const { contenders, denseTail } = group
    const reference = group.dense ? contextReference(group.dense) : savedReference(saved as SavedLogits)
    const tail = denseTail > 0 ? `, dense tail ${denseTail}` : ''
    const what = `compare: -ub ${contenders[0]?.outcome.head.n_ubatch}${tail},`
    await windows.walk(what, group, writer ? savingReference(reference, writer) : reference, {
      after: () => {
        for (const contender of contenders) session.say(soFar(contender))
      },
    })
    await writer?.finish()
    writer = undefined // every group's dense prefill would be the same but for -ub
    rows.push(...contenders.map(({ outcome }) => outcome.row()))
    await session.drop(group)
  }

  const verdicts = judge(rows, flags)
  const { description } = model
  const nTokens = windows.tokens.length
  const elapsedMs = performance.now() - start
  const report = flags.json
    ? `${JSON.stringify(toJson({ model: flags.model, description, nTokens, layout, rows, verdicts, elapsedMs }))}\n`
    : renderText({ model: `${basename(flags.model)} (${description})`, nTokens, layout }, rows)
  await session.output.write(report)
  const failed = verdicts.filter(({ ok }) => !ok)
  for (const { message } of failed) session.say(`h2o-prefill: threshold: ${message}`)
  return failed.length > 0 ? ExitCode.threshold : ExitCode.ok
}

/** `  single-pass votes -b 1536 -ub 512 L=256 H=255: PPL 8.1234, 1.0123 of dense, KLD 0.012345, same top p 97.12 %` */
function soFar({ outcome }: Contender): string {
  const row = outcome.row()
  const { ppl, ppl_ratio, kld, same_top_percent } = row.prompt ?? {}
  return (
    `  ${describeRow(row)}: PPL ${ppl?.value.toFixed(4)}, ${ppl_ratio?.value.toFixed(4)} of dense, ` +
    `KLD ${kld?.mean.value.toFixed(6)}, same top p ${same_top_percent?.value.toFixed(2)} %`
  )
}
