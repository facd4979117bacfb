// llama-completion samples with the pin's own common_sampler: the same flags give the same text here.

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateOptions } from '../../src/ts/cli/flags/flags.js'
import { type RunFlags, runOptions } from '../../src/ts/cli/flags/options.js'
import { constraintOf } from '../../src/ts/cli/flags/sampling-flags.js'
import { parseArgv } from '../../src/ts/cli/program.js'
import { type Context, createContext } from '../../src/ts/index.js'
import { run } from './support.js'

const model = fileURLToPath(new URL('../../model/recall-q8_0.gguf', import.meta.url))
const door = 'The code of the blue door is 4711. The code of the red door is'
const prompt = `${door} 4711. The code of the blue door is`
const spec = { usage: '', description: '', options: runOptions, version: '', notes: '' }

let context: Context
beforeAll(async () => {
  context = await createContext({ model, nCtx: 512, nThreads: 1, h2o: false })
})
afterAll(() => context.dispose())

async function ours(argv: string[]): Promise<string> {
  const flags = parseArgv<RunFlags>(argv, spec).flags as RunFlags
  const generation = context.generate(prompt, { ...generateOptions(flags), ...(await constraintOf(flags)) })
  for (;;) {
    const { done, value } = await generation.next()
    if (done) return value.text
  }
}

async function pins(argv: string[]): Promise<string> {
  const quiet = ['-no-cnv', '--no-warmup', '--no-display-prompt', '-c', '512']
  const { stdout } = await run('llama-completion', ['-m', model, '-p', prompt, ...quiet, ...argv])
  return stdout.replace(' [end of text]', '').trim()
}

const schema =
  '{"type":"object","properties":{"a":{"type":"string","maxLength":9},"b":{"type":"integer"}},"required":["a"]}'

test.each<[string, ...string[]]>([
  [''],
  ['--temp 0'],
  ['--temp 0 --repeat-penalty 1.3'],
  ['--repeat-penalty 1.3 --frequency-penalty 0.4 --presence-penalty 0.3 --repeat-last-n 20'],
  ['--temp 0 --dry-multiplier 0.8 --dry-penalty-last-n 30'],
  ['--dry-multiplier 2 --dry-allowed-length 1'],
  ['--temp 1.5 --xtc-probability 0.7 --xtc-threshold 0.05'],
  ['--temp 1.5 --typical 0.6'],
  ['--temp 2 --top-nsigma 1.2'],
  ['--temp 1.2 --dynatemp-range 0.7 --dynatemp-exp 1.5'],
  ['--mirostat 1 --mirostat-ent 4'],
  ['--mirostat 2 --mirostat-lr 0.3'],
  ['--temp 2 --samplers top_k;temperature;min_p --top-k 9'],
  ['--temp 3 --sampling-seq tkp'],
  ['--samplers top_k;adaptive_p --adaptive-target 0.3 --top-k 30'],
  ['--temp 1.5 -l 32-2 -l 101+3'],
  ['--temp 2 --ignore-eos --top-k 0'],
  ['--temp 1.5 --top-k 300 --top-p 0.8 --min-p 0'],
  ['--temp 2', '--grammar', 'root ::= [a-z ]+ "." [0-9]{3,9} " end"'],
  ['--mirostat 2 --repeat-penalty 1.4', '--grammar', 'root ::= "ja" | "nein" | [x-z]*'],
  ['--temp 1.8 --top-k 0', '-j', schema],
])('%s %s %s', async (flags, ...more) => {
  const argv = [...flags.split(' ').filter(Boolean), ...more, '-n', '40', '-s', '3']
  const text = (await ours(argv)).trim()
  // at its end the tool may lose the last words that it has written
  await expect.poll(() => pins(argv), { timeout: 20_000, interval: 10 }).toBe(text)
  expect(text).not.toBe('')
})
