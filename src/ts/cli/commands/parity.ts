// `h2o-prefill parity`: our logits, H2O off and on, held against those of stock llama.cpp.

import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Model } from '../../index.js'
import { defaultThreads } from '../../threads.js'
import { withSession } from '../abortable.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { type ContextApi, type Group, openGroup } from '../compare/contexts.js'
import { type Layout, layOut } from '../compare/layout.js'
import type { Row } from '../compare/outcome.js'
import { type Reference, savedReference, savingReference } from '../compare/reference.js'
import { CHUNKS_PER_CALL, type Setting } from '../compare/settings.js'
import { walk } from '../compare/walk.js'
import { ExitCode } from '../exit-codes.js'
import { threadCounts } from '../flags.js'
import { seconds } from '../format.js'
import { checkTarget } from '../inspect/output-file.js'
import type { CliIo } from '../io.js'
import { modelOptions } from '../model-flags.js'
import { onceEach } from '../once-each.js'
import type { Output } from '../output.js'
import { toJunit } from '../parity/junit.js'
import { type ParityFlags, parityOptions } from '../parity/options.js'
import { type ParityReport, toJson, toText } from '../parity/report.js'
import { stockProgram, stockReference } from '../parity/stock.js'
import { judge } from '../parity/verdicts.js'
import { firstSaved } from '../saved-logits/format.js'
import { SavedLogits } from '../saved-logits/reader.js'
import { readText, textTokens, windowsOf } from '../saved-logits/text.js'
import { LogitsWriter } from '../saved-logits/writer.js'
import { requireSeveralChunks } from '../several-chunks.js'

type Api = ContextApi & Pick<typeof import('../../index.js'), 'loadModel' | 'setLogLevel'>

const notes = `The text is cut into windows as llama-perplexity cuts it, and the second half of each counts. The reference is the
unpatched llama.cpp that \`npm run build:stock\` builds beside ours, or a file that it or llama-perplexity saved elsewhere.
With H2O off the logits must be stock's; with H2O on they must be near them. The report goes to stdout, everything else to
stderr. Exit codes: 0 ok, 1 run-time failure (also where H2O does not serve the model: --no-h2o), 2 usage (also a saved
file that is none, or does not fit), 3 model missing or invalid, 4 no usable binary, ours or stock's, 5 memory,
6 a tolerance does not hold, 130 Ctrl-C.`

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
  const warn = onceEach((message) => io.stderr.write(`h2o-prefill: warning: ${message}\n`))
  const nBatch = flags.batchSize ?? CHUNKS_PER_CALL * flags.ubatchSize
  if (flags.h2o) requireSeveralChunks(nBatch, flags.ubatchSize, 'give 3 or more of -ub, or leave -b out')
  if (flags.junit !== undefined) await checkTarget('--junit', flags.junit)
  const text = await readText(flags, io, warn)
  const model = modelPath(flags, io)
  const program = flags.klDivergenceBase === undefined ? stockProgram(flags.stock) : undefined

  return withSession(
    io,
    (output, signal) => new Session({ ...flags, model }, nBatch, program, io, output, signal, warn),
    async (session) => session.run(text, await loadApi()),
  )
}

class Session {
  #model: Model | undefined
  #group: Group | undefined
  #saved: SavedLogits | undefined
  #reference: Reference | undefined
  #writer: LogitsWriter | undefined

  constructor(
    readonly flags: ParityFlags & { model: string },
    readonly nBatch: number,
    /** undefined: a saved file is the reference */
    readonly program: string | undefined,
    readonly io: CliIo,
    readonly output: Output,
    readonly signal: AbortSignal,
    readonly warn: (message: string) => void,
  ) {}

  async run(text: string | undefined, api: Api): Promise<number> {
    const { flags, signal, program } = this
    const start = performance.now()
    if (flags.verbose) api.setLogLevel('info')
    const { klDivergenceBase: base, saveAllLogits: target } = flags
    const saved = base === undefined ? undefined : await SavedLogits.open(base)
    this.#saved = saved
    const model = await api.loadModel({ ...modelOptions(flags), signal })
    this.#model = model
    const tokens = await textTokens(model, text, saved, signal)
    const layout = this.#layOut(tokens.length, model.nCtxTrain, windowsOf(flags.ctxSize, saved))
    if (target !== undefined) {
      const head = { nCtx: layout.nWindow, nVocab: model.nVocab, nWindows: layout.nWindows }
      this.#writer = await LogitsWriter.open(target, head, tokens)
    }

    const group = await openGroup(
      api,
      model,
      this.#settings(),
      layout,
      this.#contextFlags(),
      false,
      this.warn,
    )
    this.#group = group
    this.#reference = saved ? savedReference(saved) : await this.#stock(model, layout, group)
    await this.#walk(model, tokens, layout)
    await this.#writer?.finish()

    const [off, h2o] = group.contenders.map(({ outcome }) => outcome.row()) as [Row, Row | undefined]
    return this.#report({
      model: basename(flags.model),
      description: model.description,
      reference: saved ? { kind: 'file', path: saved.path } : { kind: 'stock', path: program as string },
      nTokens: tokens.length,
      layout,
      off,
      h2o,
      verdicts: judge(off, h2o, saved === undefined, flags),
      elapsedMs: performance.now() - start,
    })
  }

  /** As llama-perplexity has it: all of a window is prompt, and its second half counts. */
  #layOut(nTokens: number, nCtxTrain: number, ctxSize: number | undefined): Layout {
    const { chunks, h2o, ubatchSize } = this.flags
    const chunk = h2o ? ubatchSize : 1 // without H2O a window may be as short as it likes
    const layout = layOut({ nTokens, nCtxTrain, chunk, ctxSize, continuation: 0, chunks, skip: 0 })
    return { ...layout, first: firstSaved(layout.nWindow) }
  }

  #settings(): Setting[] {
    const { nBatch, flags } = this
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
  #contextFlags() {
    const { threads, ...flags } = this.flags
    return threads === undefined ? flags : { ...flags, threads, threadsBatch: threads }
  }

  #stock(model: Model, layout: Layout, { contenders }: Group): Promise<Reference> {
    const { flags, program } = this
    const { nBatch, nUbatch } = contenders[0]?.context as { nBatch: number; nUbatch: number }
    return stockReference({
      program: program as string,
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

  async #walk(model: Model, tokens: Int32Array, layout: Layout): Promise<void> {
    const { signal } = this
    const { nWindow, nWindows } = layout
    const { contenders, denseTail } = this.#group as Group
    const given = this.#reference as Reference
    const reference = this.#writer ? savingReference(given, this.#writer) : given
    for (let i = 0; i < nWindows; i++) {
      const start = performance.now()
      const where = `parity: window ${i + 1}/${nWindows}`
      const window = tokens.slice(i * nWindow, (i + 1) * nWindow)
      if (model.addBos && model.bosToken !== null) window[0] = model.bosToken // as llama-perplexity does
      if (this.program) this.#say(`${where}, stock`)
      const onCall = (done: number) => this.#say(`${where}, ${done}/${nWindow} tokens`)
      await walk(i, window, layout, reference, contenders, { denseTail, signal, onCall })
      this.#say(`${where}: ${seconds(performance.now() - start)}`)
    }
  }

  async #report(report: ParityReport): Promise<number> {
    const { flags, output } = this
    if (flags.junit !== undefined) await writeFile(flags.junit, toJunit(report))
    await output.write(flags.json ? `${JSON.stringify(toJson(report))}\n` : toText(report))
    const failed = report.verdicts.filter(({ ok }) => !ok)
    for (const { message } of failed) this.#say(`h2o-prefill: tolerance: ${message}`)
    return failed.length > 0 ? ExitCode.threshold : ExitCode.ok
  }

  async dispose(): Promise<void> {
    await this.#writer?.dispose()
    await this.#reference?.dispose()
    await this.#saved?.close()
    await this.#group?.dispose()
    await this.#model?.dispose()
  }

  #say(line: string): void {
    this.io.stderr.write(`${line}\n`)
  }
}
