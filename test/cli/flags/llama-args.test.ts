// Every argument of the pin's common/arg.cpp is the same here, accepted without effect, or not there with a reason.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { benchOptions } from '../../../src/ts/cli/bench/options.js'
import { compareOptions } from '../../../src/ts/cli/compare/options.js'
import { absent, absentReason, namesIn, onlyServe } from '../../../src/ts/cli/flags/llama-args.js'
import type { OptionSpec } from '../../../src/ts/cli/flags/option.js'
import { runOptions } from '../../../src/ts/cli/flags/options.js'
import { inspectOptions } from '../../../src/ts/cli/inspect/options.js'
import { parityOptions } from '../../../src/ts/cli/parity/options.js'
import { parseArgv } from '../../../src/ts/cli/program.js'
import { serveOptions } from '../../../src/ts/cli/serve/options.js'
import { root } from '../support/spawn.js'

const source = readFileSync(join(root, 'vendor/llama.cpp/common/arg.cpp'), 'utf8')

/** Whose meaning is a little another one here. */
const differences: Readonly<Record<string, string>> = {
  '--ctx-size': 'left out, just enough for the prompt and -n',
  '--batch-size': 'a multiple of -ub, else rounded down',
  '--threads': 'all cores by default',
  '--conversation': 'off by default; one message and one answer, no dialogue',
  '--system-prompt': 'implies -cnv',
  '--chat-template': 'a template in Jinja; names of built-in templates are not known',
  '--reverse-prompt': 'the generation ends; control is not returned',
  '--predict': '-2 is -1',
  '--prompt-cache':
    'a format of its own; what is reused gives the same bits as reading it again, so it is whole chunks',
  '--prompt-cache-all': 'generated tokens are kept, and read again as part of a longer prompt',
  '--spec-type': 'none or ngram-simple; drafts grow while they are right',
  '--override-tensor': 'no back-references in a pattern, and at most 1024 characters of ASCII',
  '--override-kv': 'a value of the file must have the same type, and is checked as the file is',
  '--lora': 'a broken adapter is an error before the prompt is read; activated LoRAs (aLoRA) are refused',
  '--verbose': "llama.cpp's log, sizes of buffers and stacks of errors",
}

interface Upstream {
  names: string[]
  env: string | undefined
}

/** The arguments of `add_opt(common_arg({"-a", "--b"}, {"--no-b"}, ...).set_env("C"))`, in their order. */
function upstreamArgs(): Upstream[] {
  const calls = source.split(/add_opt\(\s*common_arg\(/).slice(1)
  return calls.map((call) => {
    const [lists = ''] = /^((\s*\/\/.*)*\s*\{[^{}]*\}\s*,)+/.exec(call) ?? []
    return {
      names: [...lists.replace(/\/\/.*/g, '').matchAll(/"(-[^"]+)"/g)].map(([, name]) => name as string),
      env: /\.set_env\("([^"]+)"\)/.exec(call)?.[1],
    }
  })
}

const args = upstreamArgs()
const upstream = new Set(args.flatMap(({ names }) => names))
const ours = new Map(runOptions.flatMap((spec) => spec.names.map((name) => [name, spec] as const)))
// commander's own
for (const name of ['-h', '--help', '--version']) ours.set(name, { names: [name], help: '', group: '' })

describe('common/arg.cpp', () => {
  it('has flags of serve alone, which say so', () => {
    const served = new Set(serveOptions.flatMap(({ names }) => names))
    const refused = absent.flatMap(({ names }) => namesIn(names))
    expect(refused.filter((name) => served.has(name))).toEqual(
      refused.filter((name) => absentReason(name) === onlyServe),
    )
  })

  it('was read as a whole', () => {
    expect(args.length).toBe(source.match(/^ +add_opt\(/gm)?.length)
    expect(args.filter(({ names }) => names.length === 0)).toEqual([])
    for (const name of ['-lm', '-nkvo', '--prompt-cache-ro', '-hf', '--draft-max'])
      expect(upstream).toContain(name)
  })

  it('has no argument that is not classed, and none twice', () => {
    const unclassed = [...upstream].filter((name) => !ours.has(name) && !absentReason(name))
    expect(unclassed).toEqual([])
    const listed = absent.flatMap(({ names }) => namesIn(names))
    expect(listed.filter((name, i) => ours.has(name) || listed.indexOf(name) < i)).toEqual([])
    expect(listed.filter((name) => !upstream.has(name))).toEqual([])
  })

  it('has every flag here under all of its names, and by the same environment variable', () => {
    for (const { names, env } of args) {
      const spec = names.map((name) => ours.get(name)).find(Boolean)
      if (!spec || spec.withoutEffect || spec.group === '') continue
      const missing = names.filter((name) => !ours.has(name) && !absentReason(name))
      expect(missing, names.join()).toEqual([])
      if (spec.env) expect(spec.env).toBe(env)
    }
  })
})

it('an argument that is not here is refused with its reason', () => {
  const parse = (...argv: string[]) =>
    parseArgv(argv, { usage: '', description: '', options: runOptions, version: '', notes: '' })
  for (const [argv, hint] of [
    [['--mmproj', 'x'], 'prompts are text'],
    [['-hf', 'a/b'], absentReason('-hf')],
    [['--model_url=x'], absentReason('--model-url')],
  ] as const) {
    expect(() => parse(...argv)).toThrow(expect.objectContaining({ code: 'ERR_CLI_USAGE', hint }))
  }
})

const ownTools = `
## llama.cpp's own tools

\`npm run build -- --tools\` builds \`llama-completion\`, \`llama-perplexity\`, \`llama-bench\`, \`llama-batched-bench\` and \`llama-server\` (without its page) of the patched tree to \`build/bin\`. They have all of llama.cpp's arguments, and \`--h2o-local\`, \`--h2o-heavy\`, \`--h2o-schedule\`, \`--h2o-select\`; but for \`llama-bench\` also \`--h2o-decode\` and \`--h2o-upstream-products\`. \`--h2o-dense-tail\` is of \`llama-completion\`, \`llama-cli\` and \`llama-server\`. A line at the start says what applies. A line at the end has the calls and tokens that were sparse, and the reason of the others.

| of llama-server | with H2O |
|---|---|
| \`-np N\` | Each slot has its own part of the cache (\`-c\` is divided), and its prompts are sparse, whatever the others do. |
| \`-np\` left out, \`-kvu\` | The slots share one cache. A prompt is sparse while it is alone there, else dense with the reason \`kv-not-contiguous\`. Idle slots leave it when a request comes. |
| \`-b\`, \`-ub\` | A prompt goes into a batch in whole chunks (\`-ub\`), as many as there is room for beside the rows that decode. The rows wait for the batch, so a smaller \`-b\` shortens their wait. With \`-b\` at \`-ub\` or below nothing is sparse. |
| the rows that decode | They have our exact kernel, also together. Its bits do not depend on other slots; those of the products of weights do. So answers of slots that decode at once differ by rounding. |
| the end of a prompt | The last \`--h2o-dense-tail\` tokens get a batch of their own, and see the whole cache. What is new in a prompt is dense if it is one chunk or less. |
| \`--cache-prompt\`, \`--cache-ram\`, \`--slot-save-path\`, \`-ctxcp\` | Reading goes on from the tokens that are there. Chunks are counted from there, so an answer may differ from that of a cold prompt. |
| \`--cache-reuse\`, \`--context-shift\` | They move what was read. What the slot reads behind moved tokens is dense (\`kv-not-contiguous\`), until it begins with an empty cache. |
| \`--spec-type\`, \`-md\` | Drafts are checked densely while they are no longer than a chunk. |
| embeddings, reranking | dense |

\`llama-batched-bench\` fills batches of \`-b\` tokens with the prompts of its sequences, one behind the other. A part of a prompt that is one chunk or less is dense. With \`-kvu\` the first prompt alone is sparse.
`.trim()

const commands = {
  serve: serveOptions,
  compare: compareOptions,
  parity: parityOptions,
  inspect: inspectOptions,
  bench: benchOptions,
}

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
const cell = (text: string) => text.replaceAll('|', '\\|')

function page(): string {
  const rows = (wanted: (spec: OptionSpec) => boolean) =>
    args.flatMap(({ names }) => {
      const spec = names.map((name) => ours.get(name)).find(Boolean)
      if (!spec || !wanted(spec)) return []
      const here = names.filter((name) => ours.has(name))
      const note = spec.withoutEffect ? spec.help : names.map((name) => differences[name] ?? '').join('')
      return [`| ${code(here)} | ${cell(note)} |`]
    })
  const only = (options: readonly OptionSpec[], besides: readonly OptionSpec[] = []) => {
    const known = new Set(besides.flatMap(({ names }) => names))
    const own = options.filter(({ names }) => !names.some((name) => upstream.has(name) || known.has(name)))
    return own.map(({ names }) => code(names)).join(', ')
  }
  return `${`
# Flags of llama.cpp

What h2o-prefill does with each argument of llama.cpp's tools (\`common/arg.cpp\` of the pinned version). Names, values, defaults and environment variables are the same unless a row says otherwise. [The command line](cli.md) explains the flags.

This page is made from \`src/ts/cli/flags/llama-args.ts\`: \`npx vitest run test/cli/flags/llama-args.test.ts -u\`. An argument that a new version of llama.cpp brings fails that test until it is classed.

## The same

| argument | what differs |
|---|---|
${rows((spec) => !spec.withoutEffect).join('\n')}

## Accepted without effect

One line on stderr says so.

| argument | why |
|---|---|
${rows((spec) => spec.withoutEffect === true).join('\n')}

## Not here

Each is an error of usage with the reason.

| arguments | why, or what is in their place |
|---|---|
${absent.map(({ why, names }) => `| ${code(namesIn(names))} | ${cell(why)} |`).join('\n')}

## Only here

| command | flags |
|---|---|
| \`run\`; some of them in others | ${only(runOptions)} |
${Object.entries(commands)
  .map(([name, options]) => `| \`${name}\` | ${only(options, runOptions)} |`)
  .join('\n')}

${ownTools}
`.trim()}\n`
}

it('is told by docs/flags.md', async () => {
  await expect(page()).toMatchFileSnapshot(join(root, 'docs/flags.md'))
})
