// The options of `bench`: llama-bench's names where it has them, then our own; and the flags they become.
import { countDefaults } from '../flags/h2o-defaults.js'
import { integers, names } from '../flags/lists.js'
import type { FlagsOf, OptionSpec } from '../flags/option.js'
import { kvType } from '../flags/options.js'
import { decodeKeys, gpuLayers, integer, number, oneOf, onOffAuto } from '../flags/parsers.js'
import { contenderGroups, onDemand } from './contenders.js'

export const outputFormats = ['md', 'csv', 'json', 'jsonl'] as const
export type OutputFormat = (typeof outputFormats)[number]

const test = 'Test:'
const params = 'Parameters (N: a number, a list "512,1024" or a range "512-4096*2", "512-2048+512"):'
const peer = 'Contenders:'
const h2o = 'H2O:'
const result = 'Output:'

// biome-ignore format: a table
export const benchOptions = [
  { group: test, names: ['-m', '--model'], value: 'FILE', env: 'LLAMA_ARG_MODEL',
    help: "the GGUF file (default: one of Qwen3-0.6B's layer shape with random weights, made on first use)" },
  { group: test, names: ['--layers'], value: 'N', parse: integer(1, 1000), default: 4, help: 'layers of the model that is made' },
  { group: test, names: ['-f', '--file'], value: 'FILE',
    help: 'a text to take the prompts from, repeated where it is too short (default: a made one)' },
  { group: test, names: ['-r', '--repetitions'], value: 'N', parse: integer(1, 1000), default: 3,
    help: 'times that each is measured' },
  { group: test, names: ['--no-warmup'], help: 'no short prefill before the measured one' },

  { group: params, names: ['-p', '--n-prompt'], value: 'N', parse: integers(1), default: [2048, 4096, 8192],
    help: 'tokens in the prompt' },
  { group: params, names: ['-n', '--n-gen'], value: 'N', parse: integer(1), default: 128,
    help: 'tokens of the answer behind it; 1: the first one alone' },
  { group: params, names: ['-b', '--batch-size'], value: 'N', parse: integers(1), default: [2048],
    help: 'logical batch: tokens per decode call' },
  { group: params, names: ['-ub', '--ubatch-size'], value: 'N', parse: integers(1), default: [512],
    help: 'physical batch, and the chunk of H2O, of our contenders' },
  { group: params, names: ['-t', '--threads'], value: 'N', parse: integers(1), help: 'CPU threads (default: all cores)' },
  { group: params, names: ['-ngl', '--gpu-layers', '--n-gpu-layers'], value: 'N', parse: gpuLayers, default: 'auto',
    help: 'layers on the GPU: a number, auto or all' },
  { group: params, names: ['-fa', '--flash-attn'], value: 'on|off|auto', parse: onOffAuto, default: 'auto',
    help: 'flash attention of our contenders; stock is measured with both' },
  { group: params, names: ['-ctk', '--cache-type-k'], value: 'TYPE', parse: kvType, default: 'f16', help: 'type of K in the cache' },
  { group: params, names: ['-ctv', '--cache-type-v'], value: 'TYPE', parse: kvType, default: 'f16', help: 'type of V in the cache' },

  { group: peer, names: ['--contenders'], value: 'LIST', parse: names(contenderGroups),
    help: `of ${[...contenderGroups.keys()].join(', ')} (default: all but ${[...onDemand].join(' and ')})` },
  { group: peer, names: ['--stock'], value: 'FILE', env: 'H2O_STOCK_BENCH',
    help: 'stock-bench, if not where `npm run bench:stock` puts it' },
  { group: peer, names: ['--native'], value: 'FILE', env: 'H2O_NATIVE_BENCH',
    help: 'h2o-bench, if not where `npm run bench:native` puts it' },
  { group: peer, names: ['--stock-ubatch-size'], value: 'N', parse: integers(1), default: [512, 1024],
    help: "stock's physical batches; it is compared at its best" },
  { group: peer, names: ['--prune'], value: 'X', parse: number(0, 1e6), default: 1.25,
    help: "after the first repetition, leave out stock's settings that took X times as long, by the clock and by CPU time, as its best one; 0 = none" },

  { group: h2o, names: ['--h2o-local'], value: 'N', parse: integer(0), help: `L ${countDefaults.local}` },
  { group: h2o, names: ['--h2o-heavy'], value: 'N', parse: integer(0), help: `H ${countDefaults.heavy}` },
  { group: h2o, names: ['--h2o-dense-tail'], value: 'N', parse: integer(0),
    help: `last tokens that are dense ${countDefaults.denseTail}` },
  { group: h2o, names: ['--h2o-decode'], value: 'N', parse: decodeKeys,
    help: 'keys of the cache that each query head chooses for a token of the answer, or auto; 0 = all (default: 0)' },

  { group: result, names: ['--profile'],
    help: 'where the time goes, in runs of their own, by stock-bench and h2o-bench: per cent of linear layers, intra, inter, selection, the rest of attention, other' },
  { group: result, names: ['-o', '--output'], value: 'FORMAT', parse: oneOf(...outputFormats), default: 'md',
    help: 'md, csv, json or jsonl, on stdout' },
] as const satisfies readonly OptionSpec[]

export type BenchFlags = FlagsOf<typeof benchOptions>
