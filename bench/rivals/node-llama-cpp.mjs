// node-llama-cpp as a contender, where it is installed, with its defaults. A process of its own: both packages bring
// libraries of the same names.

import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openLines } from './lines.mjs'

const SCRIPT = fileURLToPath(import.meta.url)

export function hasNodeLlamaCpp() {
  try {
    import.meta.resolve('node-llama-cpp')
    return true
  } catch {
    return false
  }
}

export async function openNodeLlamaCpp({ file, threads, longest }) {
  const { say, close } = await openLines('node-llama-cpp', process.execPath, [SCRIPT, file, threads, longest])
  return { ask: (ids, predict) => say({ ids, predict }), close }
}

async function answerLines(modelPath, threads, longest) {
  const { getLlama, LlamaLogLevel } = await import('node-llama-cpp')
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error })
  const model = await llama.loadModel({ modelPath })
  const context = await model.createContext({ contextSize: longest + 64, threads })
  const sequence = context.getSequence()
  console.log('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const { ids, predict } = JSON.parse(line)
    await sequence.clearHistory()
    const before = process.cpuUsage()
    const start = performance.now()
    const tokens = []
    let seconds
    for await (const token of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
      seconds ??= (performance.now() - start) / 1000
      tokens.push(token)
      if (tokens.length >= predict) break
    }
    const { user, system } = process.cpuUsage(before)
    const whole = (performance.now() - start) / 1000
    console.log(JSON.stringify({ seconds, whole, cpu: (user + system) / 1e6, tokens }))
  }
  await llama.dispose()
}

if (process.argv[1] === SCRIPT) {
  const [file, threads, longest] = process.argv.slice(2)
  await answerLines(file, Number(threads), Number(longest))
}
