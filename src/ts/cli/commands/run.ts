// `h2o-prefill run`: a model and a prompt go in, the prompt is prefilled, the text comes out.

import { predictGainOf } from '../../gain.js'
import type {
  Context,
  GeneratedToken,
  GenerateSummary,
  PrefillProgress,
  SamplingOptions,
} from '../../index.js'
import { statePosition } from '../../state-position.js'
import { attentionCostOf } from '../attention-cost.js'
import { modelPath } from '../built-in-model.js'
import { commandMain } from '../command.js'
import { contextOptions, generateOptions } from '../flags/flags.js'
import { type RunFlags, runOptions } from '../flags/options.js'
import { constraintOf } from '../flags/sampling-flags.js'
import { conversationOf } from '../run/conversation.js'
import { toJson } from '../run/json.js'
import { readPrompt } from '../run/prompt.js'
import { loadPromptCache, readPromptCache, writePromptCache } from '../run/prompt-cache.js'
import { decodeLine, memoryLines, prefillLine } from '../run/summary.js'
import { inSession, type Session, warner } from '../session.js'
import { ExitCode } from '../shell/exit-codes.js'
import { count } from '../shell/format.js'
import { type CliIo, shareAPlace } from '../shell/io.js'
import { answer } from '../shell/output.js'
import { createProgress } from '../shell/progress.js'

type Api = Pick<
  typeof import('../../index.js'),
  'loadModel' | 'createContext' | 'listDevices' | 'setLogLevel'
>

const notes = `The prompt comes from -p, -f FILE, -f - or a pipe; the text goes to stdout, everything else to stderr.
Without -m it is the recall model of the package: 1 M parameters, for trying things out.
Exit codes: 0 ok, 1 run-time failure, 2 usage, 3 model missing or invalid, 4 no usable binary or device,
5 memory or context overflow, 130 Ctrl-C or SIGTERM.
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
  const warn = warner(io)
  const constraint = await constraintOf(flags)
  const text = await readPrompt(flags, () => io.stdin, warn)
  const path = modelPath(flags, io)

  const done: Done = { read: 0, total: 0, predicted: 0 }
  return inSession(
    io,
    warn,
    async (session) => {
      await answerPrompt(session, { ...flags, model: path }, text, constraint, await loadApi(), done)
      return ExitCode.ok
    },
    (session) => reportInterrupt(session, done),
  )
}

/** What a run has done, in tokens: an interrupt may come at any time. */
interface Done {
  /** of the prompt's `total` */
  read: number
  total: number
  predicted: number
}

async function answerPrompt(
  session: Session,
  flags: RunFlags & { model: string },
  text: string,
  constraint: SamplingOptions,
  api: Api,
  done: Done,
): Promise<void> {
  const { signal, output, onWarning } = session
  const loadStart = performance.now()
  const cache = await readPromptCache(flags)
  const model = await session.loadModel(api, flags)
  const prompt = await conversationOf(flags, text, model)
  const tokens = await model.tokenizeAsync(prompt, { addSpecial: true, parseSpecial: true, signal })
  const nTokens = Math.max(tokens.length, cache ? statePosition(cache) : 0)
  const context = session.keep(await api.createContext(contextOptions(flags, model, nTokens, onWarning)))
  if (cache) await loadPromptCache(flags, context, cache)
  const loadMs = performance.now() - loadStart
  if (flags.verbose) for (const line of memoryLines(context)) session.say(line)

  signal.throwIfAborted()
  const summary = await generate(session, flags, context, tokens, constraint, done)
  await writePromptCache(flags, context, summary.prefill.position)
  const attention = attentionCostOf(flags, api)
  const gain = attention && predictGainOf(summary.prefill, context.h2o, attention)
  if (flags.json) {
    await output.write(`${JSON.stringify(toJson({ model: flags.model, loadMs, context, summary, gain }))}\n`)
  }
  if (output.closed) return
  endText(session)
  session.say(prefillLine(summary.prefill, context, gain))
  if (flags.predict !== 0) session.say(decodeLine(summary))
}

async function generate(
  { io, output, signal }: Session,
  flags: RunFlags,
  context: Context,
  tokens: Int32Array,
  constraint: SamplingOptions,
  done: Done,
): Promise<GenerateSummary> {
  done.total = tokens.length
  const progress = createProgress(io.stderr, tokens.length)
  const onProgress = (p: PrefillProgress) => {
    if (p.call) done.read = p.done
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
      done.predicted++
      if (!flags.json) await output.write(step.value.text)
      signal.throwIfAborted()
    }
  } catch (error) {
    // as in llama.cpp: a prompt that was read is kept, whatever becomes of the text
    await generation.return(undefined as never)
    if (signal.aborted && done.predicted > 0) await writePromptCache(flags, context, tokens.length)
    throw error
  } finally {
    progress.end()
  }
}

/** What an interrupted run had done; the text that there was is already out. */
function reportInterrupt(session: Session, { read, total, predicted }: Done): void {
  endText(session)
  session.say(
    predicted > 0
      ? `interrupted after ${count(predicted, 'generated token')}`
      : total > 0
        ? `interrupted after ${read} of ${total} prompt tokens`
        : 'interrupted',
  )
}

function endText(session: Session): void {
  const { io, output } = session
  if (output.last !== '\n' && shareAPlace(io.stdout, io.stderr)) session.say('')
}
