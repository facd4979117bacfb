// `h2o-prefill parity`: our logits, H2O off and on, held against those of stock llama.cpp.

import { basename } from 'node:path'
import type { Model } from '../../index.js'
import { defaultThreads } from '../../threads.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { type ContextApi, type Group, openGroup } from '../compare/contexts.js'
import { type Layout, layOut } from '../compare/layout.js'
import type { Row } from '../compare/outcome.js'
import { type Reference, savedReference, savingReference } from '../compare/reference.js'
import { CHUNKS_PER_CALL, type Setting } from '../compare/settings.js'
import { Windows } from '../compare/windows.js'
import { threadCounts } from '../flags/flags.js'
import { modelOptions } from '../flags/model-flags.js'
import { toJunit } from '../parity/junit.js'
import { type ParityFlags, parityOptions } from '../parity/options.js'
import { type ParityReport, toJson, toText } from '../parity/report.js'
import { stockProgram, stockReference } from '../parity/stock.js'
import { judge } from '../parity/verdicts.js'
import { firstSaved } from '../saved-logits/format.js'
import { readText, windowsOf } from '../saved-logits/text.js'
import { inSession, type Session, warner } from '../session.js'
import { requireSeveralChunks } from '../several-chunks.js'
import { ExitCode } from '../shell/exit-codes.js'
import type { CliIo } from '../shell/io.js'
import { checkNoInput, checkTarget, writeParts } from '../shell/output-file.js'

type Api = ContextApi & Pick<typeof import('../../index.js'), 'loadModel' | 'setLogLevel'>

const notes = `The text is cut into windows as llama-perplexity cuts it, and the second half of each counts. The reference is the
unpatched llama.cpp that \`npm run build:stock\` builds beside ours, or a file that it or llama-perplexity saved elsewhere.
With H2O off the logits must be stock's; with H2O on they must be near them. The report goes to stdout, everything else to
stderr. Exit codes: 0 ok, 1 run-time failure (also where H2O does not serve the model: --no-h2o), 2 usage (also a saved
file that is none, or does not fit), 3 model missing or invalid, 4 no usable binary, ours or stock's, 5 memory,
6 a tolerance does not hold, 130 Ctrl-C or SIGTERM.`

export const main = commandMain<ParityFlags>(
  {
    usage: 'parity [-m FILE] -f FILE [options]',
    description: 'Hold the logits, H2O off and on, against those of stock llama.cpp.',
    options: parityOptions,
    notes,
  },
  (flags, io) => parity(flags, io, () => import('../../index.js')),
)

/** The command with its flags parsed; `loadApi` is called when the command line has proved right. */
export async function parity(flags: ParityFlags, io: CliIo, loadApi: () => Promise<Api>): Promise<number> {
  const warn = warner(io)
  const nBatch = flags.batchSize ?? CHUNKS_PER_CALL * flags.ubatchSize
  if (flags.h2o) requireSeveralChunks(nBatch, flags.ubatchSize, 'give 3 or more of -ub, or leave -b out')
  if (flags.junit !== undefined) {
    await checkTarget('--junit', flags.junit)
    await checkNoInput('--junit', flags.junit, flags)
  }
  const text = await readText(flags, io, warn)
  const model = modelPath(flags, io)
  const program = flags.klDivergenceBase === undefined ? stockProgram(flags.stock) : undefined

  return inSession(io, warn, async (session) =>
    hold(session, { ...flags, model }, nBatch, program, text, await loadApi()),
  )
}

type Flags = ParityFlags & { model: string }

/** `program` is undefined where a saved file is the reference. */
async function hold(
  session: Session,
  flags: Flags,
  nBatch: number,
  program: string | undefined,
  text: string | undefined,
  api: Api,
): Promise<number> {
  const start = performance.now()
  const windows = await Windows.open(session, api, flags, text, (nTokens, nCtxTrain, saved) =>
    secondHalves(flags, nTokens, nCtxTrain, windowsOf(flags.ctxSize, saved)),
  )
  const { model, layout, saved, writer } = windows
  const settings = settingsOf(flags, nBatch)
  const group = session.keep(
    await openGroup(api, model, settings, layout, contextFlags(flags), false, session.warn),
  )
  const given = saved
    ? savedReference(saved)
    : session.keep(await stock(flags, program as string, model, layout, group))
  await windows.walk('parity:', group, writer ? savingReference(given, writer) : given, {
    before: (where) => program && session.say(`${where}, stock`),
  })
  await writer?.finish()

  const [off, h2o] = group.contenders.map(({ outcome }) => outcome.row()) as [Row, Row | undefined]
  return print(session, flags, {
    model: basename(flags.model),
    description: model.description,
    reference: saved ? { kind: 'file', path: saved.path } : { kind: 'stock', path: program as string },
    nTokens: windows.tokens.length,
    layout,
    off,
    h2o,
    verdicts: judge(off, h2o, saved === undefined, flags),
    elapsedMs: performance.now() - start,
  })
}

/** As llama-perplexity has it: all of a window is prompt, and its second half counts. */
function secondHalves(
  { chunks, h2o, ubatchSize }: Flags,
  nTokens: number,
  nCtxTrain: number,
  ctxSize: number | undefined,
): Layout {
  const chunk = h2o ? ubatchSize : 1 // without H2O a window may be as short as it likes
  const layout = layOut({ nTokens, nCtxTrain, chunk, ctxSize, continuation: 0, chunks, skip: 0 })
  return { ...layout, first: firstSaved(layout.nWindow) }
}

function settingsOf(flags: Flags, nBatch: number): Setting[] {
  const setting: Setting = {
    schedule: flags.h2oSchedule,
    select: flags.h2oSelect,
    nBatch,
    nUbatch: flags.ubatchSize,
    local: flags.h2oLocal,
    heavy: flags.h2oHeavy,
    denseTail: flags.h2oDenseTail ?? 0,
  }
  return [{ ...setting, off: true }, ...(flags.h2o ? [setting] : [])]
}

// batches and single tokens alike: stock-logits has one count of threads
function contextFlags({ threads, ...flags }: Flags) {
  return threads === undefined ? flags : { ...flags, threads, threadsBatch: threads }
}

function stock(
  flags: Flags,
  program: string,
  model: Model,
  layout: Layout,
  { contenders }: Group,
): Promise<Reference> {
  const { nBatch, nUbatch } = contenders[0]?.context as { nBatch: number; nUbatch: number }
  return stockReference({
    program,
    model: flags.model,
    nVocab: model.nVocab,
    nCtx: layout.nWindow,
    nBatch,
    nUbatch,
    nThreads: threadCounts(flags).nThreads ?? defaultThreads(),
    nGpuLayers: modelOptions(flags).nGpuLayers,
    flashAttn: flags.flashAttn,
    typeK: flags.cacheTypeK,
    typeV: flags.cacheTypeV,
    first: layout.first,
  })
}

async function print(session: Session, flags: Flags, report: ParityReport): Promise<number> {
  if (flags.junit !== undefined) await writeParts(flags.junit, [toJunit(report)], session.signal)
  await session.output.write(flags.json ? `${JSON.stringify(toJson(report))}\n` : toText(report))
  const failed = report.verdicts.filter(({ ok }) => !ok)
  for (const { message } of failed) session.say(`h2o-prefill: tolerance: ${message}`)
  return failed.length > 0 ? ExitCode.threshold : ExitCode.ok
}
