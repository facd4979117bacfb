// The child process of our contenders: `node worker.js TASK`, where TASK is JSON. Prints one JSON value, a result or
// { error }. Everything that is measured happens here, in a process that did nothing before.
import { readFile, writeFile } from 'node:fs/promises'
import type { Context, ContextOptions, ModelOptions } from '../../index.js'
import { argmax } from '../statistics.js'
import { processPeakRss } from './process-usage.js'
import type { Sample } from './sample.js'

export type Task = PrefillTask | TokenizeTask

export interface PrefillTask {
  kind: 'prefill'
  model: ModelOptions
  /** int32 ids; the first nPrompt of them are prefilled */
  tokens: string
  nPrompt: number
  /** tokens of the answer */
  nGen: number
  /** tokens of an unmeasured prefill before */
  nWarmup: number
  context: Omit<ContextOptions, 'model'>
}

/** Writes the first nTokens tokens of a text, over and over if it is short, to `tokens`. */
export interface TokenizeTask {
  kind: 'tokenize'
  model: ModelOptions
  text: string
  tokens: string
  nTokens: number
}

async function prefill(task: PrefillTask): Promise<Sample> {
  const baseRssBytes = process.memoryUsage.rss()
  const { createContext, loadModel } = await import('../../index.js')
  const prompt = await readTokens(task.tokens, task.nPrompt)
  const model = await loadModel(task.model)
  const warnings: string[] = []
  const onWarning = ({ message }: { message: string }) => void warnings.push(message)
  const context = await createContext({ ...task.context, model, onWarning })
  if (task.nWarmup > 0) await context.prefill(prompt.subarray(0, task.nWarmup))
  await context.clear()

  const prefilled = startClock()
  const result = await context.prefill(prompt)
  const token = argmax(result.logits as Float32Array)
  const ttft = prefilled()

  const answered = startClock()
  const predictedSparse = await answer(context, token, task.nGen)
  const rest = answered()

  const { memory, h2o } = context
  const peakRssBytes = await processPeakRss()
  await context.dispose()
  await model.dispose()
  return {
    ttftMs: ttft.ms,
    cpuMs: ttft.cpuMs,
    token,
    answerMs: rest.ms,
    answerCpuMs: rest.cpuMs,
    peakRssBytes,
    path: result.path,
    addon: {
      baseRssBytes,
      reason: result.reason,
      chunks: result.chunks,
      denseTail: result.denseTail,
      calls: result.calls.map(({ n }) => n),
      local: h2o.local,
      heavy: h2o.heavy,
      h2oBytes: memory.h2oStateBytes + memory.h2oIndexBytes + memory.h2oIntraBytes,
      kvBytes: memory.kvBytes,
      computeBytes: memory.computeBytes,
      sparseGraphNodes: memory.sparseGraphNodes,
      predictedSparse,
      warnings,
    },
  }
}

function startClock(): () => { ms: number; cpuMs: number } {
  const cpuStart = process.cpuUsage()
  const start = performance.now()
  return () => {
    const ms = performance.now() - start
    const { user, system } = process.cpuUsage(cpuStart)
    return { ms, cpuMs: (user + system) / 1000 }
  }
}

/** The tokens of an answer behind its first one. @returns how many of them by sparse decoding */
async function answer(context: Context, first: number, nGen: number): Promise<number> {
  if (nGen < 2) return 0
  const options = { append: true, nPredict: nGen - 1, temperature: 0, ignoreEos: true }
  const { timings } = await context.generate([first], options).result()
  return timings.predictedSparse
}

async function tokenize(task: TokenizeTask): Promise<{ nVocab: number; description: string }> {
  const { loadModel } = await import('../../index.js')
  const model = await loadModel(task.model)
  const once = model.tokenize(await readFile(task.text, 'utf8'))
  if (once.length === 0) throw new Error('the text holds no tokens')
  const tokens = Int32Array.from({ length: task.nTokens }, (_, i) => once[i % once.length] as number)
  await writeFile(task.tokens, tokens)
  const { nVocab, description } = model
  await model.dispose()
  return { nVocab, description }
}

async function readTokens(path: string, count: number): Promise<Int32Array> {
  const bytes = await readFile(path)
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 4 * count))
}

try {
  const task = JSON.parse(process.argv[2] ?? '') as Task
  console.log(JSON.stringify(await (task.kind === 'prefill' ? prefill(task) : tokenize(task))))
} catch (error) {
  const { message, code, hint } = error as Error & { code?: string; hint?: string }
  console.log(JSON.stringify({ error: { message, code, hint } }))
  process.exitCode = 1
}
