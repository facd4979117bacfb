// The options of `serve`: those of `run` that load a model and set its defaults, and llama-server's own.
import { InvalidArgumentError } from 'commander'
import { countDefaults } from '../flags/h2o-defaults.js'
import type { FlagsOf, OptionSpec, RowWithoutEffect } from '../flags/option.js'
import { type RunFlags, runOptions, withoutEffect } from '../flags/options.js'
import { integer, type Parser } from '../flags/parsers.js'
import { defaultCacheMiB } from './cache-ram.js'

/** A prompt and one answer on stdout are for `run`, and a server has a log. */
const ofRunAlone = new Set(
  '-p -f -e --no-escape -cnv -no-cnv -sys -r -st --no-display-prompt --simple-io --json --prompt-cache --prompt-cache-all --prompt-cache-ro --list-devices --log-disable'.split(
    ' ',
  ),
)

const changes: Readonly<Record<string, Partial<OptionSpec>>> = {
  '-c': {
    help: 'context in tokens, 0 = what the model was trained for (default: that, at most 32768)',
  },
  '-n': {
    help: 'most tokens of an answer, unless a request says; -1 = until the model ends or the context is full',
  },
  '--chat-template': { help: "the template, in place of the model's" },
  '--h2o-dense-tail': {
    help: `tokens at the end of a prompt that see all of it, at least ${countDefaults.denseTail}; a last question of a chunk or less always does`,
  },
}

const server = 'Server:'

/** An empty one, as of a variable that is not set, would be all addresses of the machine. */
const address: Parser<string> = (text) => {
  if (text === '') throw new InvalidArgumentError('An address is expected, 0.0.0.0 for all there are.')
  return text
}

// biome-ignore format: a table
const serverOptions = [
  { group: server, names: ['--host'], value: 'HOST', env: 'LLAMA_ARG_HOST', parse: address, default: '127.0.0.1', help: 'the address to listen on' },
  { group: server, names: ['--port'], value: 'N', env: 'LLAMA_ARG_PORT', parse: integer(0, 65535), default: 8080, help: 'the port, 0 = any that is free' },
  { group: server, names: ['-a', '--alias'], value: 'NAME', env: 'LLAMA_ARG_ALIAS', help: "the model's name in answers (default: the file's)" },
  { group: server, names: ['--api-key'], value: 'KEY', env: 'LLAMA_API_KEY', help: 'who asks must have it; several with commas' },
  { group: server, names: ['--api-key-file'], value: 'FILE', env: 'LLAMA_ARG_API_KEY_FILE', help: 'a file with keys, one a line; # begins a comment' },
  { group: server, names: ['--separate-keys'], help: 'what was read for one key is read again for another: see docs/serving.md' },
  { group: server, names: ['-np', '--parallel'], value: 'N', env: 'LLAMA_ARG_N_PARALLEL', parse: integer(1, 64), default: 1,
    help: 'slots: requests that run at once, each with -c tokens' },
  { group: server, names: ['-cb', '--cont-batching'], env: 'LLAMA_ARG_CONT_BATCHING',
    help: 'tokens of all slots in one graph: faster from some four slots on; answers are equal up to rounding' },
  { group: server, names: ['-nocb', '--no-cont-batching'], help: 'each slot has a graph of its own (default)' },
  { group: server, names: ['-cram', '--cache-ram'], value: 'MIB', env: 'LLAMA_ARG_CACHE_RAM', parse: integer(-1, 2 ** 30),
    help: `memory for what slots held, so that it is not read again; 0 = none, -1 = without a bound (default: ${defaultCacheMiB}, at most half of what the model and its context leave)` },
  { group: server, names: ['--prefill-assistant'], env: 'LLAMA_ARG_PREFILL_ASSISTANT', default: true, help: 'a last message of the assistant is continued (default)' },
  { group: server, names: ['--no-prefill-assistant'], help: "a last message of the assistant is one that has ended: the answer is another one" },
  { group: server, names: ['--ui', '--webui'], default: true, help: 'a page at / that reads a text and answers questions about it (default)' },
  { group: server, names: ['--no-ui', '--no-webui'], help: 'no page' },
  { group: server, names: ['--log-disable'], help: 'no line on stderr for each request' },
  { group: server, names: ['--queue'], value: 'N', parse: integer(0, 1e6), default: 64, help: 'requests that may wait; one more gets 429' },
  { group: server, names: ['-to', '--timeout'], value: 'N', env: 'LLAMA_ARG_TIMEOUT', parse: integer(1, 1e6), default: 3600,
    help: 'seconds that a request may take, waiting included' },
  { group: server, names: ['--max-body'], value: 'MIB', parse: integer(1, 256), default: 16, help: 'size of a request in MiB, 256 at most' },
  { group: server, names: ['--cors-origins'], value: 'LIST', env: 'LLAMA_ARG_CORS_ORIGINS', help: 'origins whose pages may ask, * = all (default: none)' },
] as const satisfies readonly OptionSpec[]

// biome-ignore format: a table
const serverRowsWithoutEffect: readonly RowWithoutEffect[] = [
  { group: withoutEffect, names: ['--metrics'], withoutEffect: true, help: '/metrics is always there' },
  { group: withoutEffect, names: ['--slots'], withoutEffect: true, help: '/slots is always there' },
]

export const serveOptions: readonly OptionSpec[] = [
  ...serverOptions,
  ...runOptions
    .filter(({ names }) => !names.some((name) => ofRunAlone.has(name)))
    .map((option) => ({ ...option, ...changes[option.names[0]] })),
  ...serverRowsWithoutEffect,
]

export type ServeFlags = RunFlags & FlagsOf<typeof serverOptions>
