// The options of `inspect`: those of `run` for the model, the prompt, the context and H2O, then its own.

import { longName } from '../argv.js'
import type { ContextFlags } from '../flags.js'
import type { ModelFlags } from '../model-flags.js'
import { type OptionSpec, runOptions } from '../options.js'
import { integer } from '../parsers.js'
import type { PromptFlags } from '../prompt.js'

export interface InspectFlags extends Omit<ContextFlags, 'h2o' | 'predict'>, ModelFlags, PromptFlags {
  model?: string
  output: string
  runs: number
  sink: number
  columns: number
  json?: boolean
  verbose?: boolean
}

// nothing is generated, and there is nothing to see without H2O
const left = new Set(['Sampling:', 'Output:'])
const leftOut = new Set([
  '--no-h2o',
  '--conversation',
  '--no-conversation',
  '--system-prompt',
  '--chat-template',
  '--chat-template-file',
  '--prompt-cache',
  '--prompt-cache-all',
  '--prompt-cache-ro',
  '--list-devices',
])
const shared = runOptions.filter(
  (option) => !left.has(option.group) && !option.withoutEffect && !leftOut.has(longName(option)),
)
const own = 'Inspection:'
const output = 'Output:'

// biome-ignore format: a table
export const inspectOptions: readonly OptionSpec[] = [
  ...shared,

  { group: own, names: ['--runs'], value: 'N', parse: integer(1, 100), default: 2,
    help: 'prefills of the prompt, whose memory sets must be the same' },
  { group: own, names: ['--sink'], value: 'N', parse: integer(0), default: 4,
    help: 'first positions of the prompt that count as attention sink' },
  { group: own, names: ['--columns'], value: 'N', parse: integer(1, 4096), default: 256,
    help: 'most columns of a heat map: a longer prompt has several positions in one' },

  { group: output, names: ['-o', '--output'], value: 'FILE', default: 'h2o-inspect.html',
    help: 'the HTML file with the heat maps; one that is there is overwritten' },
  { group: output, names: ['--json'], help: 'one JSON object on stdout instead of the table' },
  { group: output, names: ['-v', '--verbose'], help: 'logs of llama.cpp and stacks of errors, on stderr' },
]
