// The options of `run`: llama.cpp's names, meanings, defaults and environment variables, then our own.
// One table for the parser, for the argv rewriter and for --help.
import { defaultSelection, policies, selections } from '../../policies.js'
import { countDefaults } from './h2o-defaults.js'
import { modelFlagOptions } from './model-flags.js'
import type { FlagsOf, OptionSpec, RowWithoutEffect } from './option.js'
import { decodeKeys, integer, number, oneOf, onOffAuto } from './parsers.js'
import { samplingFlagOptions } from './sampling-flags.js'

export const kvType = oneOf('f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1')

const atLeast = (least: number) => (value: number) => Math.max(value, least)

const prompt = 'Model and prompt:'
const context = 'Context:'
const sampling = 'Sampling:'
const h2o = 'H2O:'
const output = 'Output:'
export const withoutEffect = "Without effect, for llama.cpp's scripts:"

// biome-ignore format: a table
export const promptRows = [
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
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
export const promptCacheRows = [
  { group: prompt, names: ['--prompt-cache'], value: 'FILE',
    help: 'keep what was read of the prompt in this file, for the next prompt that begins with it' },
  { group: prompt, names: ['--prompt-cache-all'], help: 'keep the generated text there, too' },
  { group: prompt, names: ['--prompt-cache-ro'], help: 'use the file and do not write it' },
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
export const batchRows = [
  { group: context, names: ['-c', '--ctx-size'], value: 'N', env: 'LLAMA_ARG_CTX_SIZE', parse: integer(0),
    help: 'context in tokens, 0 = what the model was trained for (default: enough for the prompt and its answer)' },
  { group: context, names: ['-b', '--batch-size'], to: 'nBatch', value: 'N', env: 'LLAMA_ARG_BATCH', parse: integer(1), default: 2048,
    help: 'logical batch: tokens per decode call' },
  { group: context, names: ['-ub', '--ubatch-size'], to: 'nUbatch', value: 'N', env: 'LLAMA_ARG_UBATCH', parse: integer(1), default: 512,
    help: 'physical batch, and the chunk of H2O' },
  { group: context, names: ['-t', '--threads'], value: 'N', env: 'LLAMA_ARG_THREADS', parse: integer(-1),
    help: 'CPU threads for generation (default: all cores)' },
  { group: context, names: ['-tb', '--threads-batch'], value: 'N', parse: integer(-1),
    help: 'CPU threads for the prefill (default: as --threads)' },
  { group: context, names: ['-fa', '--flash-attn'], to: 'flashAttn', value: 'on|off|auto', env: 'LLAMA_ARG_FLASH_ATTN', parse: onOffAuto,
    default: 'auto', help: 'flash attention on the dense path' },
  { group: context, names: ['-ctk', '--cache-type-k'], to: 'typeK', value: 'TYPE', env: 'LLAMA_ARG_CACHE_TYPE_K', parse: kvType,
    default: 'f16', help: 'type of K in the cache: f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1' },
  { group: context, names: ['-ctv', '--cache-type-v'], to: 'typeV', value: 'TYPE', env: 'LLAMA_ARG_CACHE_TYPE_V', parse: kvType,
    default: 'f16', help: 'type of V in the cache; a quantised one is refused with -fa off' },
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
export const ropeRows = [
  { group: context, names: ['--rope-scaling'], to: 'scaling', value: 'NAME', env: 'LLAMA_ARG_ROPE_SCALING_TYPE', parse: oneOf('none', 'linear', 'yarn'),
    help: "none, linear or yarn (default: the model's)" },
  { group: context, names: ['--rope-scale'], value: 'N', env: 'LLAMA_ARG_ROPE_SCALE', parse: number(1e-9, 1e9),
    help: 'stretches the context to N times its length' },
  { group: context, names: ['--rope-freq-base'], to: 'freqBase', value: 'N', env: 'LLAMA_ARG_ROPE_FREQ_BASE', parse: number(1e-9, 1e12),
    help: "base frequency (default: the model's)" },
  { group: context, names: ['--rope-freq-scale'], to: 'freqScale', value: 'N', env: 'LLAMA_ARG_ROPE_FREQ_SCALE', parse: number(1e-9, 1e12),
    help: 'the same as --rope-scale 1/N' },
  { group: context, names: ['--yarn-orig-ctx'], to: 'yarnOrigCtx', value: 'N', env: 'LLAMA_ARG_YARN_ORIG_CTX', parse: integer(1),
    help: 'YaRN: the context that is stretched (default: the training context)' },
  { group: context, names: ['--yarn-ext-factor'], to: 'yarnExtFactor', value: 'N', env: 'LLAMA_ARG_YARN_EXT_FACTOR', parse: number(0, 1), help: 'YaRN: share of extrapolation' },
  { group: context, names: ['--yarn-attn-factor'], to: 'yarnAttnFactor', value: 'N', env: 'LLAMA_ARG_YARN_ATTN_FACTOR', parse: number(0, 1e12), help: 'YaRN: attention magnitude' },
  { group: context, names: ['--yarn-beta-slow'], to: 'yarnBetaSlow', value: 'N', env: 'LLAMA_ARG_YARN_BETA_SLOW', parse: number(0, 1e12), help: 'YaRN: high correction' },
  { group: context, names: ['--yarn-beta-fast'], to: 'yarnBetaFast', value: 'N', env: 'LLAMA_ARG_YARN_BETA_FAST', parse: number(0, 1e12), help: 'YaRN: low correction' },
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
export const cacheRows = [
  { group: context, names: ['--swa-full'], to: 'swaFull', env: 'LLAMA_ARG_SWA_FULL', help: 'keep all positions of layers with a sliding window' },
  { group: context, names: ['-kvo', '--kv-offload'], to: 'kvOffload', env: 'LLAMA_ARG_KV_OFFLOAD', default: true, help: 'the KV cache is on the GPU (default)' },
  { group: context, names: ['-nkvo', '--no-kv-offload'], help: 'the KV cache stays on the CPU' },

  { group: context, names: ['--upstream-products'], to: 'upstreamProducts', help: "llama.cpp's own products and decoding, to its bits" },
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
export const samplingRows = [
  { group: sampling, names: ['-n', '--predict', '--n-predict'], to: 'nPredict', map: atLeast(-1), value: 'N', env: 'LLAMA_ARG_N_PREDICT', parse: integer(-2),
    default: -1, help: 'tokens to generate, 0 = prefill only, -1 = until the model ends or the context is full' },
  { group: sampling, names: ['-s', '--seed'], to: 'seed', value: 'N', parse: integer(-1, 2 ** 32 - 1), default: -1,
    help: 'seed of the sampler, -1 = random' },
  { group: sampling, names: ['--temp', '--temperature'], to: 'temperature', map: atLeast(0), value: 'T', env: 'LLAMA_ARG_TEMPERATURE', parse: number(-1e6, 1e6),
    default: 0.8, help: 'temperature, 0 = greedy' },
  { group: sampling, names: ['--top-k'], to: 'topK', map: atLeast(0), value: 'N', env: 'LLAMA_ARG_TOP_K', parse: integer(-1), default: 40,
    help: 'sample from the N likeliest tokens, 0 = all' },
  { group: sampling, names: ['--top-p'], to: 'topP', value: 'P', env: 'LLAMA_ARG_TOP_P', parse: number(0, 1), default: 0.95,
    help: 'sample from the likeliest tokens that hold P together, 1 = all' },
  { group: sampling, names: ['--min-p'], to: 'minP', value: 'P', env: 'LLAMA_ARG_MIN_P', parse: number(0, 1), default: 0.05,
    help: 'drop tokens below P times the likeliest, 0 = none' },
  { group: sampling, names: ['-r', '--reverse-prompt'], to: 'stop', value: 'TEXT', several: true,
    help: 'end before this text; may be given several times' },
  { group: sampling, names: ['--ignore-eos'], to: 'ignoreEos', help: 'generate on where the model would end' },
  ...samplingFlagOptions,
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
export const h2oRows = [
  { group: h2o, names: ['--h2o-local'], to: 'local', value: 'N', parse: integer(0),
    help: `last positions before a chunk that its queries see ${countDefaults.local}` },
  { group: h2o, names: ['--h2o-heavy'], to: 'heavy', value: 'N', parse: integer(0),
    help: `heavy positions, which they see besides: --h2o-select says how they are chosen ${countDefaults.heavy}` },
  { group: h2o, names: ['--h2o-schedule'], to: 'schedule', value: 'NAME', parse: oneOf('single-pass', 'two-pass'), default: 'single-pass',
    help: 'single-pass or two-pass' },
  { group: h2o, names: ['--h2o-select'], to: 'select', value: 'NAME', parse: oneOf(...selections),
    help: `what chooses the heavy positions: ${policies.map(({ name, about }) => `${name} (${about})`).join(', ')} (default: ${defaultSelection})` },
  { group: h2o, names: ['--h2o-dense-tail'], to: 'denseTail', value: 'N', parse: integer(0),
    help: `tokens at the end of the prompt that see all of it, as a question there should ${countDefaults.denseTail}` },
  { group: h2o, names: ['--h2o-decode'], to: 'decode', value: 'N', parse: decodeKeys,
    help: 'sparse decoding: keys of the cache that each query head chooses for a token, auto = as many as stay near to all, 0 = all (default: 0)' },
  { group: h2o, names: ['--no-h2o'], help: 'stock attention' },
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
const rowsWithoutEffect: readonly RowWithoutEffect[] = [
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
]

// biome-ignore format: a table
export const outputRows = [
  { group: output, names: ['--json'], help: 'one JSON object on stdout instead of the text' },
  { group: output, names: ['-v', '--verbose', '--log-verbose'], help: 'logs of llama.cpp, sizes of buffers, stacks of errors, on stderr' },
] as const satisfies readonly OptionSpec[]

const rows = [
  ...promptRows,
  ...promptCacheRows,
  ...batchRows,
  ...ropeRows,
  ...cacheRows,
  ...modelFlagOptions,
  {
    group: 'Model and devices:',
    names: ['--list-devices'],
    help: 'print the devices that there are, and end',
  },
  ...samplingRows,
  ...h2oRows,
  ...rowsWithoutEffect,
  ...outputRows,
] as const satisfies readonly OptionSpec[]

export const runOptions: readonly OptionSpec[] = rows

export type RunFlags = FlagsOf<typeof rows>
