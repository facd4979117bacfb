// `h2o-prefill run`: a model and a prompt go in, the prompt is prefilled, the text comes out.

import type {
  Context,
  GeneratedToken,
  GenerateSummary,
  H2oWarning,
  Model,
  PrefillProgress,
  SamplingOptions,
} from '../../index.js'
import { statePosition } from '../../state-position.js'
import { withSession } from '../abortable.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { conversationOf } from '../conversation.js'
import { predictGainOf } from '../doctor/gain.js'
import { ExitCode } from '../exit-codes.js'
import { contextOptions, generateOptions } from '../flags.js'
import { count } from '../format.js'
import { type CliIo, shareAPlace } from '../io.js'
import { toJson } from '../json.js'
import { modelOptions } from '../model-flags.js'
import { onceEach } from '../once-each.js'
import { type RunFlags, runOptions } from '../options.js'
import { answer, type Output } from '../output.js'
import { createProgress } from '../progress.js'
import { readPrompt } from '../prompt.js'
import { readPromptCache, writePromptCache } from '../prompt-cache.js'
import { constraintOf } from '../sampling-flags.js'
import { decodeLine, memoryLines, prefillLine } from '../summary.js'

type Api = Pick<
  typeof import('../../index.js'),
  'loadModel' | 'createContext' | 'listDevices' | 'setLogLevel'
>

const notes = `The prompt comes from -p, -f FILE, -f - or a pipe; the text goes to stdout, everything else to stderr.
Without -m it is the recall model of the package: 1 M parameters, for trying things out.
Exit codes: 0 ok, 1 run-time failure, 2 usage, 3 model missing or invalid, 4 no usable binary or device,
5 memory or context overflow, 130 Ctrl-C.
Other commands, each with a --help of its own: bench, compare, parity, inspect, doctor, serve, model, build.`

export const main = commandMain<RunFlags>(
  {
    usage: '[run] [-m FILE] [-p TEXT | -f FILE] [options]',
    description: 'Prefill a prompt with H2O chunked sparse attention and generate from it.',
    options: runOptions,
    notes,
  },
  (flags, io) => (flags.listDevices ? listDevices(io) : run(flags, io, () => import('../../index.js'))),
)

/** As llama.cpp's tools print them. */
async function listDevices(io: CliIo): Promise<number> {
  const { listDevices } = await import('../../index.js')
  const mib = (bytes: number) => Math.floor(bytes / 2 ** 20)
  const lines = listDevices().map(
    ({ name, description, memoryTotal, memoryFree }) =>
      `  ${name}: ${description} (${mib(memoryTotal)} MiB, ${mib(memoryFree)} MiB free)`,
  )
  return answer(io, `Available devices:\n${(lines.length > 0 ? lines : ['  (none)']).join('\n')}\n`)
}

/** The command with its flags parsed; `loadApi` is called when the command line has proved right. */
export async function run(flags: RunFlags, io: CliIo, loadApi: () => Promise<Api>): Promise<number> {
  const warn = onceEach((message) => io.stderr.write(`h2o-prefill: warning: ${message}\n`))
  const constraint = await constraintOf(flags)
  const text = await readPrompt(flags, () => io.stdin, warn)
  const path = modelPath(flags, io)

  return withSession(
    io,
    (output, signal) => new Session(flags, io, output, signal, (w) => warn(w.message)),
    async (session) => {
      await session.run(path, text, constraint, await loadApi())
      return ExitCode.ok
    },
    (session) => session.reportInterrupt(),
  )
}

class Session {
  #model: Model | undefined
  #context: Context | undefined
  #done = 0
  #total = 0
  #predicted = 0

  constructor(
    readonly flags: RunFlags,
    readonly io: CliIo,
    readonly output: Output,
    readonly signal: AbortSignal,
    readonly onWarning: (warning: H2oWarning) => void,
  ) {}

  async run(path: string, text: string, constraint: SamplingOptions, api: Api): Promise<void> {
    const { flags, signal, output } = this
    if (flags.verbose) api.setLogLevel('info')

    const loadStart = performance.now()
    const cache = await readPromptCache(flags)
    const { onWarning } = this
    this.#model = await api.loadModel({ ...modelOptions({ ...flags, model: path }), onWarning, signal })
    const prompt = await conversationOf(flags, text, this.#model)
    const tokens = await this.#model.tokenizeAsync(prompt, {
      addSpecial: true,
      parseSpecial: true,
      signal,
    })
    const nTokens = Math.max(tokens.length, cache ? statePosition(cache) : 0)
    this.#context = await api.createContext(contextOptions(flags, this.#model, nTokens, onWarning))
    if (cache) await this.#context.loadState(cache)
    const loadMs = performance.now() - loadStart
    if (flags.verbose) for (const line of memoryLines(this.#context)) this.#note(line)

    signal.throwIfAborted()
    const summary = await this.#generate(this.#context, tokens, constraint)
    await writePromptCache(flags, this.#context, summary.prefill.position)
    // no GPU has been measured, so nothing is known of what dense takes there
    const onCpu = flags.device?.length === 0 || api.listDevices().length === 0
    const gain = onCpu ? predictGainOf(summary.prefill, this.#context.h2o) : undefined
    if (flags.json) {
      const report = toJson({ model: path, loadMs, context: this.#context, summary, gain })
      await output.write(`${JSON.stringify(report)}\n`)
    }
    if (output.closed) return
    this.#endText()
    this.#note(prefillLine(summary.prefill, this.#context, gain))
    if (flags.predict !== 0) this.#note(decodeLine(summary))
  }

  async #generate(
    context: Context,
    tokens: Int32Array,
    constraint: SamplingOptions,
  ): Promise<GenerateSummary> {
    const { flags, io, signal } = this
    this.#total = tokens.length
    const progress = createProgress(io.stderr, tokens.length)
    const onProgress = (p: PrefillProgress) => {
      if (p.call) this.#done = p.done
      progress.update(p)
    }
    const generation = context.generate(tokens, {
      ...generateOptions(flags),
      ...constraint,
      signal,
      onProgress,
    })
    try {
      for (;;) {
        const step: IteratorResult<GeneratedToken, GenerateSummary> = await generation.next()
        progress.end()
        if (step.done) return step.value
        this.#predicted++
        if (!flags.json) await this.output.write(step.value.text)
        signal.throwIfAborted()
      }
    } catch (error) {
      // as in llama.cpp: a prompt that was read is kept, whatever becomes of the text
      await generation.return(undefined as never)
      if (signal.aborted && this.#predicted > 0) await writePromptCache(flags, context, tokens.length)
      throw error
    } finally {
      progress.end()
    }
  }

  /** What an interrupted run had done; the text that there was is already out. */
  reportInterrupt(): void {
    this.#endText()
    this.#note(
      this.#predicted > 0
        ? `interrupted after ${count(this.#predicted, 'generated token')}`
        : this.#total > 0
          ? `interrupted after ${this.#done} of ${this.#total} prompt tokens`
          : 'interrupted',
    )
  }

  async dispose(): Promise<void> {
    await this.#context?.dispose()
    await this.#model?.dispose()
  }

  #endText(): void {
    if (this.output.last !== '\n' && shareAPlace(this.io.stdout, this.io.stderr)) this.#note('')
  }

  #note(line: string): void {
    this.io.stderr.write(`${line}\n`)
  }
}
