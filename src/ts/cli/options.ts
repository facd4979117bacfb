// The options of `run`: llama.cpp's names, meanings, defaults and environment variables, then our own.
// One table for the parser, for the argv rewriter and for --help.
import { defaultSelection, policies, selections } from '../policies.js'
import { countDefaults } from './h2o-defaults.js'
import { modelFlagOptions } from './model-flags.js'
import { decodeKeys, integer, number, oneOf, onOffAuto, type Parser } from './parsers.js'
import { samplingFlagOptions } from './sampling-flags.js'

export interface OptionSpec {
  /** every spelling; the first long one names the flag */
  names: readonly [string, ...string[]]
  /** what --help calls the value; an option without one is a switch */
  value?: string
  help: string
  env?: string
  parse?: Parser<unknown>
  /** a switch of llama.cpp's scripts that changes nothing here: one line says so */
  withoutEffect?: true
  /** given again it is one more, and not another one */
  several?: true
  default?: unknown
  group: string
}

const kvType = oneOf('f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1')

const prompt = 'Model and prompt:'
const context = 'Context:'
const sampling = 'Sampling:'
const h2o = 'H2O:'
const output = 'Output:'
const withoutEffect = "Without effect, for llama.cpp's scripts:"

// biome-ignore format: a table
export const runOptions: readonly OptionSpec[] = [
  { group: prompt, names: ['-m', '--model'], value: 'FILE', env: 'LLAMA_ARG_MODEL', help: 'the GGUF file (default: the recall model of the package)' },
  { group: prompt, names: ['-p', '--prompt'], value: 'TEXT', help: 'the prompt' },
  { group: prompt, names: ['-f', '--file'], value: 'FILE', help: 'the file with the prompt, - for stdin' },
  { group: prompt, names: ['-e', '--escape'], default: true, help: 'process \\n, \\t, \\xHH ... in the prompt (default)' },
  { group: prompt, names: ['--no-escape'], help: 'take the prompt as it is' },
  { group: prompt, names: ['-cnv', '--conversation'],
    help: "the prompt is a user's message, put into the model's chat template; one answer" },
  { group: prompt, names: ['-no-cnv', '--no-conversation'], help: 'the prompt is plain text (default)' },
  { group: prompt, names: ['-sys', '--system-prompt'], value: 'TEXT', help: 'a system message before it; implies -cnv' },
  { group: prompt, names: ['--chat-template'], value: 'JINJA', env: 'LLAMA_ARG_CHAT_TEMPLATE',
    help: "the template, in place of the model's; implies -cnv" },
  { group: prompt, names: ['--chat-template-file'], value: 'FILE', env: 'LLAMA_ARG_CHAT_TEMPLATE_FILE', help: 'the same from a file' },

  { group: prompt, names: ['--prompt-cache'], value: 'FILE',
    help: 'keep what was read of the prompt in this file, for the next prompt that begins with it' },
  { group: prompt, names: ['--prompt-cache-all'], help: 'keep the generated text there, too' },
  { group: prompt, names: ['--prompt-cache-ro'], help: 'use the file and do not write it' },

  { group: context, names: ['-c', '--ctx-size'], value: 'N', env: 'LLAMA_ARG_CTX_SIZE', parse: integer(0),
    help: 'context in tokens, 0 = what the model was trained for (default: enough for the prompt and -n)' },
  { group: context, names: ['-b', '--batch-size'], value: 'N', env: 'LLAMA_ARG_BATCH', parse: integer(1), default: 2048,
    help: 'logical batch: tokens per decode call' },
  { group: context, names: ['-ub', '--ubatch-size'], value: 'N', env: 'LLAMA_ARG_UBATCH', parse: integer(1), default: 512,
    help: 'physical batch, and the chunk of H2O' },
  { group: context, names: ['-t', '--threads'], value: 'N', env: 'LLAMA_ARG_THREADS', parse: integer(-1),
    help: 'CPU threads for generation (default: all cores)' },
  { group: context, names: ['-tb', '--threads-batch'], value: 'N', parse: integer(-1),
    help: 'CPU threads for the prefill (default: as --threads)' },
  { group: context, names: ['-fa', '--flash-attn'], value: 'on|off|auto', env: 'LLAMA_ARG_FLASH_ATTN', parse: onOffAuto,
    default: 'auto', help: 'flash attention on the dense path' },
  { group: context, names: ['-ctk', '--cache-type-k'], value: 'TYPE', env: 'LLAMA_ARG_CACHE_TYPE_K', parse: kvType,
    default: 'f16', help: 'type of K in the cache: f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1' },
  { group: context, names: ['-ctv', '--cache-type-v'], value: 'TYPE', env: 'LLAMA_ARG_CACHE_TYPE_V', parse: kvType,
    default: 'f16', help: 'type of V in the cache; a quantised one needs -fa on' },
  { group: context, names: ['--rope-scaling'], value: 'NAME', env: 'LLAMA_ARG_ROPE_SCALING_TYPE', parse: oneOf('none', 'linear', 'yarn'),
    help: "none, linear or yarn (default: the model's)" },
  { group: context, names: ['--rope-scale'], value: 'N', env: 'LLAMA_ARG_ROPE_SCALE', parse: number(1e-9, 1e9),
    help: 'stretches the context to N times its length' },
  { group: context, names: ['--rope-freq-base'], value: 'N', env: 'LLAMA_ARG_ROPE_FREQ_BASE', parse: number(1e-9, 1e12),
    help: "base frequency (default: the model's)" },
  { group: context, names: ['--rope-freq-scale'], value: 'N', env: 'LLAMA_ARG_ROPE_FREQ_SCALE', parse: number(1e-9, 1e12),
    help: 'the same as --rope-scale 1/N' },
  { group: context, names: ['--yarn-orig-ctx'], value: 'N', env: 'LLAMA_ARG_YARN_ORIG_CTX', parse: integer(1),
    help: 'YaRN: the context that is stretched (default: the training context)' },
  { group: context, names: ['--yarn-ext-factor'], value: 'N', env: 'LLAMA_ARG_YARN_EXT_FACTOR', parse: number(0, 1), help: 'YaRN: share of extrapolation' },
  { group: context, names: ['--yarn-attn-factor'], value: 'N', env: 'LLAMA_ARG_YARN_ATTN_FACTOR', parse: number(0, 1e12), help: 'YaRN: attention magnitude' },
  { group: context, names: ['--yarn-beta-slow'], value: 'N', env: 'LLAMA_ARG_YARN_BETA_SLOW', parse: number(0, 1e12), help: 'YaRN: high correction' },
  { group: context, names: ['--yarn-beta-fast'], value: 'N', env: 'LLAMA_ARG_YARN_BETA_FAST', parse: number(0, 1e12), help: 'YaRN: low correction' },
  { group: context, names: ['--swa-full'], env: 'LLAMA_ARG_SWA_FULL', help: 'keep all positions of layers with a sliding window' },
  { group: context, names: ['-kvo', '--kv-offload'], env: 'LLAMA_ARG_KV_OFFLOAD', default: true, help: 'the KV cache is on the GPU (default)' },
  { group: context, names: ['-nkvo', '--no-kv-offload'], help: 'the KV cache stays on the CPU' },

  { group: context, names: ['--upstream-products'], help: "llama.cpp's own products and decoding, to its bits" },

  ...modelFlagOptions,
  { group: 'Model and devices:', names: ['--list-devices'], help: 'print the devices that there are, and end' },

  { group: sampling, names: ['-n', '--predict', '--n-predict'], value: 'N', env: 'LLAMA_ARG_N_PREDICT', parse: integer(-2),
    default: -1, help: 'tokens to generate, 0 = prefill only, -1 = until the model ends or the context is full' },
  { group: sampling, names: ['-s', '--seed'], value: 'N', parse: integer(-1, 2 ** 32 - 1), default: -1,
    help: 'seed of the sampler, -1 = random' },
  { group: sampling, names: ['--temp', '--temperature'], value: 'T', env: 'LLAMA_ARG_TEMPERATURE', parse: number(-1e6, 1e6),
    default: 0.8, help: 'temperature, 0 = greedy' },
  { group: sampling, names: ['--top-k'], value: 'N', env: 'LLAMA_ARG_TOP_K', parse: integer(-1), default: 40,
    help: 'sample from the N likeliest tokens, 0 = all' },
  { group: sampling, names: ['--top-p'], value: 'P', env: 'LLAMA_ARG_TOP_P', parse: number(0, 1), default: 0.95,
    help: 'sample from the likeliest tokens that hold P together, 1 = all' },
  { group: sampling, names: ['--min-p'], value: 'P', env: 'LLAMA_ARG_MIN_P', parse: number(0, 1), default: 0.05,
    help: 'drop tokens below P times the likeliest, 0 = none' },
  { group: sampling, names: ['-r', '--reverse-prompt'], value: 'TEXT', several: true,
    help: 'end before this text; may be given several times' },
  { group: sampling, names: ['--ignore-eos'], help: 'generate on where the model would end' },

  ...samplingFlagOptions,

  { group: h2o, names: ['--h2o-local'], value: 'N', parse: integer(0),
    help: `last positions before a chunk that its queries see ${countDefaults.local}` },
  { group: h2o, names: ['--h2o-heavy'], value: 'N', parse: integer(0),
    help: `heavy positions, which they see besides: --h2o-select says how they are chosen ${countDefaults.heavy}` },
  { group: h2o, names: ['--h2o-schedule'], value: 'NAME', parse: oneOf('single-pass', 'two-pass'), default: 'single-pass',
    help: 'single-pass or two-pass' },
  { group: h2o, names: ['--h2o-select'], value: 'NAME', parse: oneOf(...selections),
    help: `what chooses the heavy positions: ${policies.map(({ name, about }) => `${name} (${about})`).join(', ')} (default: ${defaultSelection})` },
  { group: h2o, names: ['--h2o-dense-tail'], value: 'N', parse: integer(0),
    help: `tokens at the end of the prompt that see all of it, as a question there should ${countDefaults.denseTail}` },
  { group: h2o, names: ['--h2o-decode'], value: 'N', parse: decodeKeys,
    help: 'sparse decoding: keys of the cache that each query head chooses for a token, auto = 512, 0 = all (default: 0)' },
  { group: h2o, names: ['--no-h2o'], help: 'stock attention' },

  ...[
    ['--no-warmup', '--warmup', 'there is none'],
    ['--no-display-prompt', 'the prompt is not printed'],
    ['-st', '--single-turn', 'there is one answer'],
    ['--jinja', 'templates are Jinja'],
    ['--simple-io', 'output is plain'],
    ['--no-perf', 'timings go to stderr'],
    ['--log-disable', 'there is no log without -v'],
    ['--no-context-shift', 'the context never shifts'],
    ['--offline', 'nothing is downloaded'],
    ['--no-mmproj', '--no-mmproj-auto', 'there are no images'],
  ].map((row) => ({
    group: withoutEffect,
    names: row.slice(0, -1) as [string, ...string[]],
    help: row.at(-1) as string,
    withoutEffect: true as const,
  })),
  { group: withoutEffect, names: ['-fit', '--fit'], value: 'on|off', withoutEffect: true, help: 'nothing is fitted to the memory of devices' },

  { group: output, names: ['--json'], help: 'one JSON object on stdout instead of the text' },
  { group: output, names: ['-v', '--verbose', '--log-verbose'], help: 'logs of llama.cpp, sizes of buffers, stacks of errors, on stderr' },
]
