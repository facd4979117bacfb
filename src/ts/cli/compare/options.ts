// The options of `compare`: llama-perplexity's names where it has them, then our own; and the flags they become.
import type { Schedule, Selection } from '../../index.js'
import { defaultSelection, selections } from '../../policies.js'
import { countDefaults } from '../flags/h2o-defaults.js'
import { integers, names } from '../flags/lists.js'
import { modelFlagOptions } from '../flags/model-flags.js'
import type { FlagsOf, OptionSpec } from '../flags/option.js'
import { kvType } from '../flags/options.js'
import { integer, number, onOffAuto } from '../flags/parsers.js'

const schedules = names<Schedule>(
  new Map([
    ['single-pass', ['single-pass']],
    ['two-pass', ['two-pass']],
  ]),
)
const selectionLists = names<Selection>(new Map(selections.map((name) => [name, [name]])))

const text = 'Model and text:'
const context = 'Context:'
const h2o = 'H2O (LIST: a number, "128,256" or a range "128-512*2"; every combination is compared):'
const limit = 'Thresholds (exit code 6 if one does not hold for every combination):'
const output = 'Output:'

// biome-ignore format: a table
export const compareOptions = [
  { group: text, names: ['-m', '--model'], value: 'FILE', env: 'LLAMA_ARG_MODEL', help: 'the GGUF file (default: the recall model of the package)' },
  { group: text, names: ['-f', '--file'], value: 'FILE', help: 'the file with the text, - for stdin' },
  { group: text, names: ['-p', '--prompt'], value: 'TEXT', help: 'the text itself' },
  { group: text, names: ['-e', '--escape'], help: 'process \\n, \\t, \\xHH ... in the text' },
  { group: text, names: ['--kl-divergence-base'], value: 'FILE',
    help: "compare with the logits in FILE instead of with a dense prefill; it has the text and -c. llama-perplexity's format" },
  { group: text, names: ['--save-all-logits'], value: 'FILE', help: 'save the logits of the dense prefills in that format' },
  { group: text, names: ['-c', '--ctx-size'], value: 'N', env: 'LLAMA_ARG_CTX_SIZE', parse: integer(0),
    help: 'tokens of a window, 0 = what the model was trained for (default: that, up to 8192 and to the length of the text)' },
  { group: text, names: ['-n', '--continuation'], value: 'N', parse: integer(0), default: 256,
    help: 'tokens at the end of a window that are no prompt, but decoded densely after it' },
  { group: text, names: ['--chunks', '--windows'], value: 'N', parse: integer(-1), default: -1,
    help: 'most windows to take, -1 = all that the text holds' },
  { group: text, names: ['--skip'], value: 'N', parse: integer(0),
    help: 'positions at the begin of a window that do not count (default: the largest -ub: the first chunk sees all of itself)' },

  { group: context, names: ['-b', '--batch-size'], value: 'N', env: 'LLAMA_ARG_BATCH', parse: integer(1),
    help: 'logical batch: tokens per decode call, whose logits are all held (default: 3 of -ub)' },
  { group: context, names: ['-t', '--threads'], value: 'N', env: 'LLAMA_ARG_THREADS', parse: integer(-1),
    help: 'CPU threads (default: all cores)' },
  { group: context, names: ['-tb', '--threads-batch'], value: 'N', parse: integer(-1),
    help: 'CPU threads for more than one token at once (default: as --threads)' },
  { group: context, names: ['-fa', '--flash-attn'], value: 'on|off|auto', env: 'LLAMA_ARG_FLASH_ATTN', parse: onOffAuto,
    default: 'auto', help: 'flash attention on the dense path' },
  { group: context, names: ['-ctk', '--cache-type-k'], value: 'TYPE', env: 'LLAMA_ARG_CACHE_TYPE_K', parse: kvType,
    default: 'f16', help: 'type of K in the cache' },
  { group: context, names: ['-ctv', '--cache-type-v'], value: 'TYPE', env: 'LLAMA_ARG_CACHE_TYPE_V', parse: kvType,
    default: 'f16', help: 'type of V in the cache; a quantised one is refused with -fa off' },

  ...modelFlagOptions,

  { group: h2o, names: ['-ub', '--ubatch-size'], value: 'LIST', env: 'LLAMA_ARG_UBATCH', parse: integers(1), default: [512],
    help: 'physical batch, and the chunk S' },
  { group: h2o, names: ['--h2o-local'], value: 'LIST', parse: integers(0), help: `L ${countDefaults.local}` },
  { group: h2o, names: ['--h2o-heavy'], value: 'LIST', parse: integers(0), help: `H ${countDefaults.heavy}` },
  { group: h2o, names: ['--h2o-schedule'], value: 'LIST', parse: schedules, default: ['single-pass'],
    help: 'single-pass, two-pass or both' },
  { group: h2o, names: ['--h2o-select'], value: 'LIST', parse: selectionLists,
    help: `${selections.join(', ')} or several (default: ${defaultSelection})` },
  { group: h2o, names: ['--h2o-dense-tail'], value: 'LIST', parse: integers(0), default: [0],
    help: 'tokens at the end of a prompt that see all of it' },

  { group: limit, names: ['--max-ppl-ratio'], value: 'X', parse: number(0, 1e9),
    help: 'perplexity of the prompt over that of the dense prefill' },
  { group: limit, names: ['--max-continuation-ppl-ratio'], value: 'X', parse: number(0, 1e9),
    help: 'the same of the continuation' },
  { group: limit, names: ['--max-kld'], value: 'X', parse: number(0, 1e9),
    help: 'mean KL divergence, of the prompt and of the continuation' },
  { group: limit, names: ['--min-top1'], value: 'X', parse: number(0, 100),
    help: 'per cent of tokens with the same likeliest token, in the prompt and in the continuation' },

  { group: output, names: ['--json'], help: 'one JSON object on stdout instead of the text' },
  { group: output, names: ['-v', '--verbose'], help: 'logs of llama.cpp and stacks of errors, on stderr' },
] as const satisfies readonly OptionSpec[]

export type CompareFlags = FlagsOf<typeof compareOptions>
