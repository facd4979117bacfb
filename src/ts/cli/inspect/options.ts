// The options of `inspect`: those of `run` for the model, the prompt, the context and H2O, then its own.

import { modelFlagOptions } from '../flags/model-flags.js'
import { type FlagsOf, type OptionSpec, taken } from '../flags/option.js'
import { batchRows, cacheRows, h2oRows, promptRows, ropeRows } from '../flags/options.js'
import { integer } from '../flags/parsers.js'

const own = 'Inspection:'
const output = 'Output:'

// biome-ignore format: a table
export const inspectOptions = [
  ...taken(promptRows, ['--model', '--prompt', '--file', '--escape', '--no-escape']),
  ...batchRows,
  ...ropeRows,
  ...cacheRows,
  ...modelFlagOptions,
  ...taken(h2oRows, ['--h2o-local', '--h2o-heavy', '--h2o-schedule', '--h2o-select', '--h2o-dense-tail', '--h2o-decode']),

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
] as const satisfies readonly OptionSpec[]

export type InspectFlags = FlagsOf<typeof inspectOptions>
