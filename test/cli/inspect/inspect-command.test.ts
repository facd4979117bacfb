// `inspect` without a model, on memory sets whose figures are known; and what it writes.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { inspect } from '../../../src/ts/cli/commands/inspect.js'
import { runOptions } from '../../../src/ts/cli/flags/options.js'
import { type InspectFlags, inspectOptions } from '../../../src/ts/cli/inspect/options.js'
import { parseArgv } from '../../../src/ts/cli/program.js'
import { type InspectScript, inspectApi, N_HEADS, N_LAYER } from '../support/inspect-api.js'
import { memoryIo } from '../support/memory-io.js'

const spec = { usage: '', description: '', options: inspectOptions, version: '', notes: '' }
const folder = mkdtempSync(join(tmpdir(), 'h2o-inspect-'))
let nFiles = 0
afterAll(() => rmSync(folder, { recursive: true }))

async function runWith(line = '', script: InspectScript = {}, length = 20) {
  const { api, log } = inspectApi(script)
  const io = memoryIo({ stdin: 'x'.repeat(length) })
  const file = join(folder, `${nFiles++}.html`)
  const small = `-m x.gguf -ub 4 -b 12 --h2o-local 2 --h2o-heavy 1 -o ${file}`
  const flags = parseArgv<InspectFlags>(`${small} ${line}`.split(' ').filter(Boolean), spec)
    .flags as InspectFlags
  const result = { log, io, file, code: undefined as number | undefined, error: undefined as unknown }
  try {
    result.code = await inspect(flags, io, api)
  } catch (error) {
    result.error = error
  }
  return { ...result, out: io.stdout.text, err: io.stderr.text }
}

async function report(line = '', script: InspectScript = {}) {
  const { out, err } = await runWith(`--json ${line}`, script)
  expect(out, err).toMatch(/^\{.*\}\n$/)
  return JSON.parse(out)
}

describe('the runs', () => {
  it('record everything once, and the sets as often as asked', async () => {
    const { log, code, err } = await runWith('--runs 3')
    expect(code, err).toBe(0)
    expect(log.contexts.map(({ h2o }) => (h2o || undefined)?.trace)).toEqual(['mass', true, true])
    expect(log.contexts[0]).toMatchObject({ nCtx: 20, nBatch: 12, nUbatch: 4 })
    expect(log.calls.filter(({ run }) => run === 0).map(({ n }) => n)).toEqual([12, 8])
    expect(log.open).toBe(0)
  })

  it('are all that is compared: one leaves the overlap open', async () => {
    const { mean, layers } = await report('--runs 1')
    expect(mean.run_jaccard_min).toBeNull()
    expect(layers[0].heads[0].chunks[1].run_jaccard).toBeNull()
  })

  it('that differ end with 1, after the report', async () => {
    const heavy: InspectScript['heavy'] = ({ run, layer, head, pos }) =>
      run === 1 && layer === 1 && head === 1 && pos === 16 ? [1] : [0]
    const { code, err, out } = await runWith('', { heavy })
    expect(code).toBe(1)
    expect(err).toContain('two runs kept different positions: Jaccard 0.500000')
    expect(out).toMatch(/^ +1 .* 0\.500$/m)
    expect(out).toMatch(/^ +0 .* 1\.000$/m)
  })
})

describe('the figures', () => {
  it('are of every layer, head and chunk', async () => {
    const heavy: InspectScript['heavy'] = ({ head, pos }) => [head === 1 && pos >= 12 ? 5 : 0]
    const { layers, ...rest } = await report('--sink 1', { heavy })
    expect(rest).toMatchObject({
      model: 'x.gguf',
      description: 'fake <model>',
      prompt_n: 20,
      dense_tail: 0,
      schedule: 'single-pass',
      select: 'votes',
      n_batch: 12,
      n_ubatch: 4,
      h2o: { local: 2, heavy: 1 },
      sink_n: 1,
      runs: 2,
      n_layer: N_LAYER,
      n_heads: N_HEADS,
      chunks: [0, 4, 8, 12, 16].map((pos) => ({ pos, n: 4 })),
      calls: [
        { n: 12, pos: 0, path: 'h2o', reason: null, inherited: 0 },
        { n: 8, pos: 12, path: 'h2o', reason: null, inherited: 0 },
      ],
    })
    expect(rest.html).toMatch(/\.html$/)
    expect(layers).toHaveLength(N_LAYER)
    const [, head] = layers[1].heads
    // every position has the same mass: 4 own, 2 Local and 1 Heavy of 8, 12, 16 and 20
    expect(head.chunks.map((chunk: { coverage: number }) => chunk.coverage)).toEqual([
      1,
      7 / 8,
      0.583333,
      7 / 16,
      0.35,
    ])
    expect(head.chunks[3]).toEqual({
      pos: 12,
      n: 4,
      n_mem: 3,
      n_sets: 1,
      own: 4 / 16,
      local: 2 / 16,
      heavy: 1 / 16,
      lost: 9 / 16,
      coverage: 7 / 16,
      oracle: 7 / 16,
      sink: 1 / 16,
      heavy_turnover: 1,
      chunk_jaccard: 0,
      run_jaccard: 1,
    })
    expect(head.chunks[0]).toMatchObject({ n_mem: 0, heavy_turnover: null, run_jaccard: null })
    expect(layers[1].chunks.map((chunk: { head_jaccard: number }) => chunk.head_jaccard)).toEqual([
      null,
      1,
      1,
      0,
      0,
    ])
    expect(layers[1].mean.heavy_turnover).toBeCloseTo(1 / 6, 6) // one of three steps, in one of two heads
    expect(layers[1].mean.coverage).toBeCloseTo((7 / 8 + 7 / 12 + 7 / 16 + 7 / 20) / 4, 6)
  })

  it('tell heads and layers apart', async () => {
    const mass: InspectScript['mass'] = ({ layer, head }, position) =>
      position === 0 ? 1 + 10 * layer + 100 * head : 1
    const { layers } = await report('--sink 1', { mass })
    const sinks = layers.flatMap(({ heads }: { heads: { chunks: { sink: number }[] }[] }) =>
      heads.map(({ chunks }) => chunks[1]?.sink),
    )
    expect(sinks).toEqual([1 / 8, 101 / 108, 11 / 18, 111 / 118].map((x) => Math.round(x * 1e6) / 1e6))
  })

  it('do not cover a dense tail', async () => {
    const { out, err } = await runWith('-b 8', {}, 18)
    expect(err).not.toContain('error')
    expect(out).toContain('18 tokens, single-pass, votes, 4 chunks of 4')
    expect(out).toContain('the last 2 tokens were dense and do not count')
  })
})

describe('the table', () => {
  it('has a line per layer, and one of all', async () => {
    const { out } = await runWith('--sink 2')
    expect(out.split('\n').slice(0, 3)).toEqual([
      'x.gguf (fake <model>)',
      '20 tokens, single-pass, votes, 5 chunks of 4, L=2 H=1; 2 layers of 2 heads',
      'shares of dense attention, as means over the heads and the 4 chunks with a memory',
    ])
    const lines = out.trimEnd().split('\n').slice(4)
    expect(lines[0]).toMatch(/layer +own chunk +local +heavy +coverage +oracle +sink \(2\) +heavy turnover/)
    expect(lines.map((line) => line.trim().split(/ +/)[0])).toEqual(['layer', '0', '1', 'all'])
    expect(new Set(lines.map((line) => line.length)).size).toBe(1)
  })
})

describe('the page', () => {
  it('holds everything in itself, and nothing of others', async () => {
    const { file, err } = await runWith('-m a<b>.gguf')
    const html = readFileSync(file, 'utf8')
    expect(err).toContain(`inspect: wrote ${file} (`)
    expect(html).toMatch(/^<!doctype html>/)
    expect(html).toContain('a&lt;b&gt;.gguf (fake &lt;model&gt;)')
    expect(html).not.toMatch(/<b>\.gguf|<model>/)
    expect(html).not.toMatch(/<script|<link|@import|https?:|url\(/)
    // five of all layers; what is seen, scores and mass of each head
    expect(html.match(/<img /g)).toHaveLength(5 + 3 * N_LAYER * N_HEADS)
    const sources = [...html.matchAll(/src="([^"]*)"/g)].map((match) => match[1])
    expect(sources.every((uri) => uri?.startsWith('data:image/png;base64,iVBOR'))).toBe(true)
    for (const tag of ['details', 'div', 'figure', 'svg', 'table', 'p', 'span', 'polygon', 'text']) {
      const opened = html.match(new RegExp(`<${tag}[ >]`, 'g'))?.length ?? 0
      expect([tag, html.match(new RegExp(`</${tag}>`, 'g'))?.length]).toEqual([tag, opened])
    }
    expect(html).not.toMatch(/NaN|undefined|null|\[object/)
  })

  it('says what the rows and columns of each map are, and where its scale ends', async () => {
    const { file } = await runWith('')
    const html = readFileSync(file, 'utf8')
    const maps = [...html.matchAll(/<span class="map".*?<\/span><\/span>/g)].map(([text]) => text)
    expect(maps).toHaveLength(5 + 3 * N_LAYER * N_HEADS)
    const ends = maps.map((map) => [...map.matchAll(/<i>(.*?)<\/i>/g)].map(([, text]) => text))
    const last = `chunk ${Number(/, (\d+) chunks of/.exec(html)?.[1]) - 1}`
    expect(ends[0]).toEqual(['layer 0', `layer ${N_LAYER - 1}`, 'chunk 0', '', last])
    const [rows, columns] = [
      ['chunk 0', last],
      ['0', expect.stringMatching(/^\d+$/)],
    ] as const
    expect(ends[5]).toEqual([...rows, columns[0], '', columns[1]])
    expect(ends[6]).toEqual([...rows, columns[0], expect.stringMatching(/^up to [\d.]+$/), columns[1]])
    expect(ends[7]).toEqual([...rows, columns[0], expect.stringMatching(/^up to [\d.]+ %$/), columns[1]])
  })

  it('overwrites the one before', async () => {
    const first = await runWith()
    const { code } = await runWith(`-o ${first.file} --columns 3`)
    expect(code).toBe(0)
    expect(readFileSync(first.file, 'utf8')).toMatch(/<\/html>\n$/)
  })
})

describe('refusals', () => {
  it.each([
    ['-m  --json', {}, /no model was given/, /-m FILE/],
    ['-b 4', {}, /-b 4 is not above -ub 4/, /lower -ub/],
    ['--h2o-local 0 --h2o-heavy 0', {}, /switches H2O off/, undefined],
    [
      '-ub 20 -b 60',
      {},
      /the prompt has 20 tokens, no more than one chunk \(-ub 20\)/,
      /-ub 5 makes 4 chunks/,
    ],
    [`-o ${folder}`, {}, /is a directory/, /name a file/],
    [`-o ${folder}/none/x.html`, {}, /there is no directory .*none/, undefined],
  ])('%s', async (line, script, message, hint) => {
    const { error, out, log } = await runWith(line.replace('-m  ', '--model= '), script)
    expect(error).toMatchObject({ code: 'ERR_CLI_USAGE', message: expect.stringMatching(message) })
    if (hint) expect((error as { hint?: string }).hint).toMatch(hint)
    expect([out, log.open, log.contexts]).toEqual(['', 0, []])
  })

  it('promises no more chunks than there are tokens', async () => {
    const { error } = await runWith('-ub 20 -b 60', {}, 3)
    expect(error).toMatchObject({ code: 'ERR_CLI_USAGE', hint: 'give a longer prompt' })
  })

  it.each([
    ['contextReason', /dense \(unsupported-memory: /],
    ['callReason', /dense \(unsupported-memory: /],
  ])('of a model that is not served, by %s', async (key, message) => {
    const { error, out, log, file } = await runWith('', { [key]: 'unsupported-memory' })
    expect(error).toMatchObject({ message: expect.stringMatching(message) })
    expect([out, log.open]).toEqual(['', 0])
    expect(existsSync(file)).toBe(false)
  })

  it('say that a file cannot be written', async () => {
    const { error } = await runWith('-o /dev/full')
    expect(error).toMatchObject({ message: 'cannot write /dev/full: ENOSPC' })
  })
})

describe('an end before the end', () => {
  it('is 130 at SIGINT, with nothing written and everything disposed', async () => {
    let calls = 0
    const beforeCall = () => void (++calls === 2 && process.emit('SIGINT'))
    const { code, out, err, log, file } = await runWith('', { beforeCall })
    expect([code, out, log.open]).toEqual([130, '', 0])
    expect(err).toMatch(/interrupted\n$/)
    expect(existsSync(file)).toBe(false)
  })

  it('is quiet when the reader has left', async () => {
    const { api, log } = inspectApi()
    const io = memoryIo({ stdin: 'x'.repeat(20) })
    io.stdout.failWith = 'EPIPE'
    const argv = `-m x.gguf -ub 4 -b 12 -o ${join(folder, 'closed.html')}`.split(' ')
    const { flags } = parseArgv<InspectFlags>(argv, spec)
    expect(await inspect(flags as InspectFlags, io, api)).toBe(0)
    expect(io.stderr.text).not.toContain('error')
    expect(log.open).toBe(0)
  })
})

describe('the options', () => {
  it('are those of run, but for generation', () => {
    const names = inspectOptions.flatMap(({ names }) => names)
    for (const name of ['-ub', '-ngl', '-fa', '-ctk', '--h2o-schedule', '-c']) expect(names).toContain(name)
    for (const name of ['-n', '--temp', '--no-h2o']) expect(names).not.toContain(name)
    const shared = inspectOptions.filter((option) => runOptions.includes(option))
    expect(shared.length).toBeGreaterThan(15)
    expect(new Set(names).size).toBe(names.length)
  })
})
