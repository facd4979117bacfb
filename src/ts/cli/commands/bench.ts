// `h2o-prefill bench`: time to first token over prompt length, of stock llama.cpp and of our own ways to prefill.

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { packageRoot } from '../../native/binding.js'
import { type Contender, defaultContenders, type Program } from '../bench/contenders.js'
import { demoModel } from '../bench/demo-model.js'
import { formatters } from '../bench/formats.js'
import { type Measurer, measurer, type Setup } from '../bench/measure.js'
import { type BenchFlags, benchOptions } from '../bench/options.js'
import { describeJob, type Group, type Job, planGroups } from '../bench/plan.js'
import { runGroups } from '../bench/runner.js'
import type { Sample } from '../bench/sample.js'
import { makeWorkload } from '../bench/workload.js'
import { commandMain } from '../command.js'
import { layers } from '../flags/model-flags.js'
import { describeMachine, foreignLoad } from '../machine.js'
import { abortable } from '../shell/abortable.js'
import { ExitCode } from '../shell/exit-codes.js'
import { count, rate, seconds } from '../shell/format.js'
import type { CliIo } from '../shell/io.js'
import { onceEach } from '../shell/once-each.js'
import type { Output } from '../shell/output.js'
import { readTextFile } from '../shell/text-file.js'
import { UsageError } from '../shell/usage-error.js'

const notes = `Every measurement is a process of its own: a short warm-up, then one prefill, timed from its start to the
argmax of the last token's logits, and the answer behind it, token by token. A request is both. Contenders alternate
within each repetition. The speed-up is the median of the ratios, repetition by repetition, to the best setting of
stock; without stock, to that of dense attention in this build. The table goes to stdout, everything else to stderr.
The exit code is 1 if something could not be measured.`

export const main = commandMain<BenchFlags>(
  {
    usage: 'bench [options]',
    description: 'Measure prompts and the answers behind them, against stock llama.cpp or dense attention.',
    options: benchOptions,
    notes,
  },
  (flags, io) => abortable(io, (output, signal) => bench(flags, io, output, signal)),
)

async function bench(flags: BenchFlags, io: CliIo, output: Output, signal: AbortSignal): Promise<number> {
  const say = (line: string) => void io.stderr.write(`${line}\n`)
  const warn = (message: string) => say(`h2o-prefill: warning: ${message}`)
  const programs = findPrograms(flags)
  const groups = planGroups({ ...flags, contenders: available(flags, programs, warn) })
  if (groups.every(({ jobs }) => jobs.length === 0)) throw new UsageError('there is nothing to measure')
  const text = flags.file === undefined ? undefined : await readTextFile(flags.file, 'the text ')

  const load = foreignLoad()
  if (load > 0) warn(`the machine is busy (load ${load.toFixed(1)}); times will be too long`)

  const folder = await mkdtemp(join(tmpdir(), 'h2o-bench-'))
  try {
    const model = { path: flags.model ?? (await demoModel(flags.layers, say)), ...layers(flags.gpuLayers) }
    const longest = Math.max(...flags.nPrompt)
    const workload = await makeWorkload(folder, model, longest, text, signal)
    const setup: Setup = {
      model,
      tokens: workload.tokens,
      ...programs,
      warmup: flags.warmup,
      typeK: flags.cacheTypeK,
      typeV: flags.cacheTypeV,
      ...(flags.h2oLocal !== undefined && { local: flags.h2oLocal }),
      ...(flags.h2oHeavy !== undefined && { heavy: flags.h2oHeavy }),
      ...(flags.h2oDenseTail !== undefined && { denseTail: flags.h2oDenseTail }),
      ...(flags.h2oDecode !== undefined && { decode: flags.h2oDecode }),
    }
    const heading = `${basename(model.path)} (${workload.description})`
    const profile = (flags.profile ?? false) && (existsSync(programs.native) || 'stock')
    if (profile === 'stock')
      warn(`no profile of our contenders: ${programs.native} is not there (${makes.native})`)
    return await report(
      groups,
      measurer(setup),
      heading,
      { ...flags, profile },
      { say, warn, output, signal },
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type NativePrograms = Record<'stock' | 'native', string>

const makes: NativePrograms = {
  stock: 'in a checkout `npm run bench:stock` builds it',
  native: 'in a checkout `npm run bench:native` builds it',
}

/** @throws UsageError if one was named and is not there */
function findPrograms(flags: BenchFlags): NativePrograms {
  const exe = process.platform === 'win32' ? '.exe' : ''
  for (const name of ['stock', 'native'] as const) {
    const path = flags[name]
    if (path !== undefined && !existsSync(path)) throw new UsageError(`--${name}: there is no ${path}`)
  }
  return {
    stock: flags.stock ?? join(packageRoot(), 'build-stock', 'bin', `stock-bench${exe}`),
    native: flags.native ?? join(packageRoot(), 'build', 'bin', `h2o-bench${exe}`),
  }
}

/** The contenders whose programs are there, with a warning for the others. */
function available(flags: BenchFlags, programs: NativePrograms, warn: (message: string) => void) {
  const wanted = flags.contenders ?? defaultContenders
  const missing = new Set<Program>()
  for (const name of ['stock', 'native'] as const) {
    if (existsSync(programs[name]) || !wanted.some(({ program }) => program === name)) continue
    missing.add(name)
    const what =
      name === 'stock' ? `stock llama.cpp is left out${insteadOfStock(wanted)}` : 'h2o-native is left out'
    warn(`${what}: ${programs[name]} is not there (${makes[name]})`)
  }
  return wanted.filter(({ program }) => !missing.has(program))
}

const insteadOfStock = (wanted: readonly Contender[]) =>
  wanted.some(({ name }) => name === 'dense')
    ? ', and speed-ups are against dense attention of this build'
    : ', so there is no speed-up (--contenders with dense: against dense attention of this build)'

interface Surroundings {
  say(line: string): void
  warn(message: string): void
  output: Output
  signal: AbortSignal
}

type ReportFlags = Pick<BenchFlags, 'repetitions' | 'prune' | 'output'> & {
  /** 'stock': of stock alone */
  profile: boolean | 'stock'
}

/** Measures the groups and prints them; exported for tests, which bring a measurer of their own. */
export async function report(
  groups: readonly Group[],
  measurer: Measurer,
  model: string,
  { repetitions, prune, output: format, profile }: ReportFlags,
  { say, warn, output, signal }: Surroundings,
): Promise<number> {
  let failures = 0
  const warnOnce = onceEach(warn)
  const formatter = formatters[format]()
  const answer = groups.some(({ jobs }) => jobs.some(({ nGen }) => nGen > 1))
  const heading = { model, repetitions, answer, profile: profile !== false, machine: describeMachine() }
  await output.write(formatter.begin(heading))
  const runs = runGroups(groups, measurer, {
    repetitions,
    prune,
    wantsProfile: ({ contender }) => profile === true || contender.program === profile,
    signal,
    onProgress: ({ job, repetition, sample }) => {
      for (const warning of sample.addon?.warnings ?? []) warnOnce(warning)
      say(progressLine(job, repetition, repetitions, sample))
    },
    onFailure: (job, error) => {
      failures++
      const why = error instanceof Error ? error.message : String(error)
      warn(`${describeJob(job)} failed at ${count(job.nPrompt, 'token')}: ${why}`)
    },
  })
  for await (const rows of runs) await output.write(formatter.group(rows))
  await output.write(formatter.end())
  return failures === 0 ? ExitCode.ok : ExitCode.failure
}

/** `bench: 4096 tokens, 1/3: h2o -b 4096 -ub 1024, 3.21 s, 1276 tok/s` */
function progressLine(job: Job, repetition: number, repetitions: number, { ttftMs }: Sample): string {
  const where = `${count(job.nPrompt, 'token')}, ${repetition + 1}/${repetitions}`
  return `bench: ${where}: ${describeJob(job)}, ${seconds(ttftMs)}, ${rate((job.nPrompt * 1000) / ttftMs)}`
}
