// `h2o-prefill compare`: what H2O changes in a model's predictions, held against dense attention over the same text.

import { basename } from 'node:path'
import type { H2oWarning, Model } from '../../index.js'
import { withSession } from '../abortable.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { type ContextApi, type Group, openGroup } from '../compare/contexts.js'
import { describeRow } from '../compare/describe.js'
import { toJson } from '../compare/json.js'
import { type Layout, layOut } from '../compare/layout.js'
import { type CompareFlags, compareOptions } from '../compare/options.js'
import type { Row } from '../compare/outcome.js'
import { contextReference, type Reference, savedReference, savingReference } from '../compare/reference.js'
import { settingGroups } from '../compare/settings.js'
import { renderText } from '../compare/text.js'
import { judge } from '../compare/thresholds.js'
import { type Contender, walk } from '../compare/walk.js'
import { ExitCode } from '../exit-codes.js'
import { seconds } from '../format.js'
import type { CliIo } from '../io.js'
import { modelOptions } from '../model-flags.js'
import { onceEach } from '../once-each.js'
import type { Output } from '../output.js'
import { SavedLogits } from '../saved-logits/reader.js'
import { readText, skipOf, textTokens, windowsOf } from '../saved-logits/text.js'
import { LogitsWriter } from '../saved-logits/writer.js'
import { UsageError } from '../usage-error.js'

type Api = ContextApi & Pick<typeof import('../../index.js'), 'loadModel' | 'setLogLevel'>

const notes = `The text is cut into windows. In each, a dense context and one per setting read the same prompt. Then all of them read the
continuation, in calls of at most a chunk, which are dense: what is lost there is what the KV cache that the sparse
prefill left behind has lost. The report goes to stdout, everything else to stderr. Exit codes: 0 ok, 1 run-time failure
(also where H2O does not serve the model), 2 usage, 3 model missing or invalid, 4 no usable binary or device, 5 memory,
6 a threshold does not hold, 130 Ctrl-C.`

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
  const warn = onceEach((message) => io.stderr.write(`h2o-prefill: warning: ${message}\n`))
  if (flags.maxContinuationPplRatio !== undefined && flags.continuation < 2) {
    throw new UsageError('--max-continuation-ppl-ratio needs a continuation of two tokens or more (-n)')
  }
  settingGroups(flags) // refuses what is wrong before anything is loaded
  const text = await readText(flags, io, warn)
  const path = modelPath(flags, io)

  return withSession(
    io,
    (output, signal) => new Session({ ...flags, model: path }, io, output, signal, warn),
    async (session) => session.run(text, await loadApi()),
  )
}

class Session {
  #model: Model | undefined
  #group: Group | undefined
  #saved: SavedLogits | undefined
  #writer: LogitsWriter | undefined

  constructor(
    readonly flags: CompareFlags & { model: string },
    readonly io: CliIo,
    readonly output: Output,
    readonly signal: AbortSignal,
    readonly warn: (message: string) => void,
  ) {}

  async run(text: string | undefined, api: Api): Promise<number> {
    const { flags, signal, output } = this
    const start = performance.now()
    if (flags.verbose) api.setLogLevel('info')
    const { klDivergenceBase: base, saveAllLogits: target } = flags
    const saved = base === undefined ? undefined : await SavedLogits.open(base)
    this.#saved = saved
    const onWarning = ({ message }: H2oWarning) => this.warn(message)
    const model = await api.loadModel({ ...modelOptions(flags), onWarning, signal })
    this.#model = model
    const tokens = await textTokens(model, text, saved, signal)
    const groups = settingGroups(flags)
    const chunk = Math.max(...flags.ubatchSize)
    const layout = layOut({
      nTokens: tokens.length,
      nCtxTrain: model.nCtxTrain,
      chunk,
      ctxSize: windowsOf(flags.ctxSize, saved),
      continuation: flags.continuation,
      chunks: flags.chunks,
      skip: skipOf(flags.skip, chunk, saved),
    })
    if (target !== undefined) {
      const head = { nCtx: layout.nWindow, nVocab: model.nVocab, nWindows: layout.nWindows }
      this.#writer = await LogitsWriter.open(target, head, tokens)
    }

    const rows: Row[] = []
    for (const settings of groups) {
      const group = await openGroup(api, model, settings, layout, flags, saved === undefined, this.warn)
      this.#group = group
      const reference = group.dense ? contextReference(group.dense) : savedReference(saved as SavedLogits)
      const saving = this.#writer && rows.length === 0 // every group's dense prefill would be the same but for -ub
      await this.#walk(
        group,
        saving ? savingReference(reference, this.#writer as LogitsWriter) : reference,
        model,
        tokens,
        layout,
      )
      if (saving) await this.#writer?.finish()
      rows.push(...group.contenders.map(({ outcome }) => outcome.row()))
      await this.#group.dispose()
      this.#group = undefined
    }

    const verdicts = judge(rows, flags)
    const { description } = model
    const nTokens = tokens.length
    const elapsedMs = performance.now() - start
    const report = flags.json
      ? `${JSON.stringify(toJson({ model: flags.model, description, nTokens, layout, rows, verdicts, elapsedMs }))}\n`
      : renderText({ model: `${basename(flags.model)} (${description})`, nTokens, layout }, rows)
    await output.write(report)
    const failed = verdicts.filter(({ ok }) => !ok)
    for (const { message } of failed) this.#say(`h2o-prefill: threshold: ${message}`)
    return failed.length > 0 ? ExitCode.threshold : ExitCode.ok
  }

  async #walk(
    { contenders, denseTail }: Group,
    reference: Reference,
    model: Model,
    tokens: Int32Array,
    layout: Layout,
  ): Promise<void> {
    const { signal } = this
    const { nWindow, nWindows } = layout
    const tail = denseTail > 0 ? `, dense tail ${denseTail}` : ''
    for (let i = 0; i < nWindows; i++) {
      const start = performance.now()
      const where = `compare: -ub ${contenders[0]?.outcome.head.n_ubatch}${tail}, window ${i + 1}/${nWindows}`
      const window = tokens.slice(i * nWindow, (i + 1) * nWindow)
      // as llama-perplexity does: every window begins as a text would
      if (model.addBos && model.bosToken !== null) window[0] = model.bosToken
      const onCall = (done: number) => this.#say(`${where}, ${done}/${nWindow} tokens`)
      await walk(i, window, layout, reference, contenders, { denseTail, signal, onCall })
      this.#say(`${where}: ${seconds(performance.now() - start)}`)
      for (const contender of contenders) this.#say(soFar(contender))
    }
  }

  async dispose(): Promise<void> {
    await this.#writer?.dispose()
    await this.#saved?.close()
    await this.#group?.dispose()
    await this.#model?.dispose()
  }

  #say(line: string): void {
    this.io.stderr.write(`${line}\n`)
  }
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
