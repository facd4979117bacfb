// The options of `parity`: llama-perplexity's names where it has them, then our own; and the flags they become.
import { compareOptions } from '../compare/options.js'
import { type FlagsOf, type OptionSpec, taken } from '../flags/option.js'
import { h2oRows } from '../flags/options.js'
import { integer, number } from '../flags/parsers.js'

const text = 'Model and text:'
const context = 'Context and device:'
const h2o = 'H2O:'
const limit = 'Tolerances (exit code 6 if one does not hold):'
const output = 'Output:'

// biome-ignore format: a table
export const parityOptions = [
  ...taken(compareOptions, ['--model', '--file', '--prompt', '--escape'], text),
  { group: text, names: ['--stock'], value: 'FILE', help: 'stock-logits, if not where `npm run build:stock` puts it' },
  { group: text, names: ['--kl-divergence-base'], value: 'FILE',
    help: "hold the logits against those in FILE instead of running stock; it has the text and -c. llama-perplexity's format" },
  { group: text, names: ['--save-all-logits'], value: 'FILE', help: "save stock's logits in that format" },
  { group: text, names: ['-c', '--ctx-size'], value: 'N', env: 'LLAMA_ARG_CTX_SIZE', parse: integer(0),
    help: 'tokens of a window, whose second half counts; 0 = what the model was trained for (default: that, up to 8192 and to the length of the text)' },
  ...taken(compareOptions, ['--chunks'], text),

  ...taken(compareOptions, ['--batch-size'], context),
  { group: context, names: ['-ub', '--ubatch-size'], value: 'N', env: 'LLAMA_ARG_UBATCH', parse: integer(1), default: 512,
    help: 'physical batch, and the chunk of H2O' },
  ...taken(compareOptions, ['--threads', '--gpu-layers', '--flash-attn', '--cache-type-k', '--cache-type-v', '--load-mode', '--mlock', '--no-mmap'], context),

  ...taken(h2oRows, ['--h2o-local', '--h2o-heavy', '--h2o-schedule', '--h2o-select', '--h2o-dense-tail'], h2o),
  { group: h2o, names: ['--no-h2o'], help: 'only with H2O off' },

  { group: limit, names: ['--max-off-kld'], value: 'X', parse: number(0, 1e9),
    help: 'mean KL divergence with H2O off (default: 0.001 of a file; equal to the bit of stock itself)' },
  { group: limit, names: ['--max-kld'], value: 'X', parse: number(0, 1e9), default: 0.1, help: 'mean KL divergence with H2O on' },
  { group: limit, names: ['--max-ppl-ratio'], value: 'X', parse: number(0, 1e9), help: 'perplexity with H2O on, over the reference' },
  { group: limit, names: ['--min-top1'], value: 'X', parse: number(0, 100),
    help: 'per cent of tokens with the same likeliest token, with H2O on' },

  { group: output, names: ['--json'], help: 'one JSON object on stdout instead of the text' },
  { group: output, names: ['--junit'], value: 'FILE', help: 'a JUnit report besides: one test case per tolerance' },
  { group: output, names: ['-v', '--verbose'], help: 'logs of llama.cpp and stacks of errors, on stderr' },
] as const satisfies readonly OptionSpec[]

export type ParityFlags = FlagsOf<typeof parityOptions>
