// `compare` without a model, on logits whose figures are known.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { compare } from '../../../src/ts/cli/commands/compare.js'
import { type CompareFlags, compareOptions } from '../../../src/ts/cli/compare/options.js'
import { parseArgv } from '../../../src/ts/cli/program.js'
import { type CompareScript, CYCLE, compareApi } from '../support/compare-api.js'
import { memoryIo } from '../support/memory-io.js'

const spec = { usage: '', description: '', options: compareOptions, version: '', notes: '' }
const small = '-m x.gguf -ub 4 -b 12 -c 40 -n 10 --h2o-local 2 --h2o-heavy 1'

async function runWith(line: string, script: CompareScript = {}, length = 100) {
  const { api, log } = compareApi(script)
  const io = memoryIo({ stdin: CYCLE.repeat(length / 4) })
  const flags = parseArgv<CompareFlags>(`${small} ${line}`.split(' ').filter(Boolean), spec)
    .flags as CompareFlags
  const result = { log, io, code: undefined as number | undefined, error: undefined as unknown }
  try {
    result.code = await compare(flags, io, api)
  } catch (error) {
    result.error = error
  }
  return { ...result, out: io.stdout.text, err: io.stderr.text }
}

async function report(line: string, script: CompareScript = {}) {
  const { out, err } = await runWith(`--json ${line}`, script)
  expect(out, err).toMatch(/^\{.*\}\n$/)
  return JSON.parse(out)
}

const halfAndQuarter = { dense: 0.5, sparse: 0.25, after: 0.5 }
// the other three tokens have a sixth each, and a quarter in the sparse row
const KLD = 0.5 * Math.log(2) + 0.5 * Math.log(4 / 6)

afterEach(() => vi.restoreAllMocks())

describe('the walk', () => {
  it('goes through prompt and continuation in step, both contexts in the same calls', async () => {
    const { log } = await runWith('--chunks 1')
    const sizes = (context: number) => log.calls.filter((call) => call.context === context).map(({ n }) => n)
    expect(sizes(0)).toEqual([12, 12, 6, 4, 4, 1])
    expect(sizes(1)).toEqual(sizes(0))
    expect(log.calls.map(({ context }) => context)).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
    expect(log.contexts.map(({ h2o }) => h2o)).toEqual([
      false,
      { schedule: 'single-pass', denseTail: 0, local: 2, heavy: 1 },
    ])
    expect(
      log.contexts.every(({ nCtx, nBatch, nUbatch }) => nCtx === 40 && nBatch === 12 && nUbatch === 4),
    ).toBe(true)
  })

  it('asks for no logits where none count', async () => {
    const { log } = await runWith('--chunks 1 --skip 12')
    expect(log.calls.filter(({ logits }) => logits === 'none').map(({ pos }) => pos)).toEqual([0, 0])
  })

  it('begins every window anew, with BOS where the model wants it', async () => {
    const firsts = async (addBos: boolean) => {
      const { log } = await runWith('', { addBos })
      return log.calls.filter(({ context, pos }) => context === 0 && pos === 0).map(({ first }) => first)
    }
    expect(await firsts(false)).toEqual([0, 0])
    expect(await firsts(true)).toEqual([3, 3])
  })

  it('runs one dense context for all settings of a physical batch', async () => {
    const { log } = await runWith('-ub 4,8 --h2o-local 0,2,3 --chunks 1 -b 24')
    expect(log.contexts.map(({ nUbatch }) => nUbatch)).toEqual([4, 4, 4, 4, 8, 8, 8, 8])
    expect(log.contexts.map(({ h2o }) => h2o !== false)).toEqual([0, 1, 1, 1, 0, 1, 1, 1].map(Boolean))
    expect(log.open).toBe(0)
  })
})

describe('the figures', () => {
  it('are those of the logits, of the prompt and of the continuation apart', async () => {
    const { rows, ...rest } = await report('', halfAndQuarter)
    expect(rest).toMatchObject({
      model: 'x.gguf',
      description: 'fake',
      n_tokens: 100,
      n_windows: 2,
      n_window: 40,
      n_prompt: 30,
      n_continuation: 10,
      first: 4,
      thresholds: [],
      passed: true,
    })
    expect(rows).toHaveLength(1)
    const [row] = rows
    expect(row).toMatchObject({
      schedule: 'single-pass',
      select: 'votes',
      n_batch: 12,
      n_ubatch: 4,
      h2o: { local: 2, heavy: 1, dense_tail: 0 },
      path: 'h2o',
      reason: null,
      prompt_n: 60,
      sparse_n: 60,
      chunks: 6,
    })
    expect(row.calls).toEqual([
      { n: 12, pos: 0, path: 'h2o', reason: null, inherited: 0, exact: false },
      { n: 12, pos: 12, path: 'h2o', reason: null, inherited: 0, exact: false },
      { n: 6, pos: 24, path: 'h2o', reason: null, inherited: 0, exact: false },
    ])
    expect(row.prompt).toMatchObject({
      n: 2 * (30 - 4),
      ppl: { value: expect.closeTo(4, 5), uncertainty: expect.closeTo(0, 5) },
      ppl_dense: { value: expect.closeTo(2, 5) },
      ppl_ratio: { value: expect.closeTo(2, 5) },
      ln_ppl_ratio: { value: expect.closeTo(Math.log(2), 5) },
      kld: {
        mean: { value: expect.closeTo(KLD, 5) },
        max: expect.closeTo(KLD, 5),
        p10: expect.closeTo(KLD, 5),
      },
    })
    // all tokens are equal in the sparse row: the first of them is taken, and follows on 12 of 52
    expect(row.prompt.same_top_percent.value).toBeCloseTo(1200 / 52, 9)
    // the window's last token is predicted by the one before it
    expect(row.continuation).toMatchObject({
      n: 2 * 9,
      ppl_ratio: { value: 1, uncertainty: 0 },
      kld: { mean: { value: 0 }, max: 0 },
      same_top_percent: { value: 100 },
    })
  })

  it('are also by position in the chunk and in the prompt', async () => {
    const [row] = (await report('', halfAndQuarter)).rows
    const positions = (bins: { from: number; to: number; n: number }[]) =>
      bins.map(({ from, to, n }) => [from, to, n])
    expect(positions(row.by_position_in_chunk)).toEqual([
      [0, 0, 14],
      [1, 1, 14],
      [2, 2, 12],
      [3, 3, 12],
    ])
    expect(row.by_position_in_prompt).toHaveLength(8)
    expect(row.by_position_in_prompt[0].from).toBe(4)
    expect(row.by_position_in_prompt[7].to).toBe(29)
    for (const { kld, ppl_ratio } of row.by_position_in_chunk) {
      expect([kld, ppl_ratio]).toEqual([expect.closeTo(KLD, 5), expect.closeTo(2, 5)])
    }
  })

  it('have no continuation with -n 0', async () => {
    const [row] = (await report('-n 0', halfAndQuarter)).rows
    expect(row.continuation).toBeNull()
    expect(row.prompt.n).toBe(2 * (40 - 4 - 1))
  })
})

describe('a setting that was not sparse', () => {
  it('says so where it was asked to be off, and equals the dense run', async () => {
    const { code, out } = await runWith(
      '--h2o-local 0 --h2o-heavy 0 --max-kld 0 --max-ppl-ratio 1',
      halfAndQuarter,
    )
    expect(code).toBe(0)
    expect(out).toContain('L=0 H=0: dense (off: H2O is switched off) ======')
    expect(out).toContain('Mean PPL(off)')
    expect(out).not.toContain('PPL(h2o)')
  })

  it('says so where calls turned out dense, and holds no threshold', async () => {
    const script = { ...halfAndQuarter, reason: 'kv-not-contiguous' } as const
    const { code, out, err } = await runWith('--max-kld 100', script)
    expect(code).toBe(6)
    expect(out).toContain('dense (kv-not-contiguous: ')
    expect(out).not.toContain('PPL(h2o)')
    expect(err).toContain('--max-kld 100: single-pass votes -b 12 -ub 4 L=2 H=1: no call was sparse')
  })

  it('counts what was dense beside sparse calls', async () => {
    // 2 of -ub in a call cannot avoid a tail: 8 + 8 + 8 + 3
    const { out } = await runWith('-b 8 -c 37', halfAndQuarter)
    expect(out).toContain('but 6 of 54 prompt tokens dense')
  })

  it('is refused where the model is not served', async () => {
    const { error, log, out } = await runWith('', { contextReason: 'unsupported-memory' })
    expect(error).toMatchObject({
      message: expect.stringMatching(/nothing to compare.*unsupported-memory: /),
    })
    expect([out, log.open]).toEqual(['', 0])
  })
})

describe('thresholds', () => {
  it.each([
    ['--max-ppl-ratio 2.01 --max-continuation-ppl-ratio 1 --max-kld 0.2 --min-top1 23', 0, []],
    ['--max-ppl-ratio 1.99', 6, ['--max-ppl-ratio 1.99: .*: the perplexity ratio of the prompt is 2.0000']],
    ['--max-kld 0.1', 6, ['--max-kld 0.1: .*: the mean KL divergence of the prompt is 0.1438']],
    ['--min-top1 99', 6, ['--min-top1 99: .*: the share of the same likeliest token of the prompt is 2']],
    ['--max-ppl-ratio 1 --max-kld 0 -n 0', 6, ['--max-ppl-ratio 1', '--max-kld 0']],
  ])('%s ends with %i', async (line, expected, messages) => {
    const { code, err, out } = await runWith(line, halfAndQuarter)
    expect(code, err).toBe(expected)
    expect(out).toContain('Mean PPL(h2o)')
    const lines = err.split('\n').filter((text) => text.startsWith('h2o-prefill: threshold: '))
    expect(lines).toHaveLength(messages.length)
    for (const [i, message] of messages.entries()) expect(lines[i]).toMatch(new RegExp(message))
  })

  it('judges the continuation by itself', async () => {
    const { code, err } = await runWith('--max-continuation-ppl-ratio 1.5 --max-ppl-ratio 1', {
      dense: 0.5,
      sparse: 0.5,
      after: 0.25,
    })
    expect(code).toBe(6)
    expect(err.match(/threshold/g)).toHaveLength(1)
    expect(err).toContain('the perplexity ratio of the continuation is 2.0000')
  })

  it('are in the JSON, for every row', async () => {
    const { thresholds, passed } = await report('--h2o-local 0,2 --h2o-heavy 0 --max-kld 0.1', halfAndQuarter)
    expect(passed).toBe(false)
    expect(thresholds).toMatchObject([
      { name: '--max-kld', limit: 0.1, row: 0, part: 'prompt', value: 0, ok: true },
      { row: 0, part: 'continuation', ok: true },
      { row: 1, part: 'prompt', ok: false },
      { row: 1, part: 'continuation', ok: true },
    ])
    expect(thresholds[0]).not.toHaveProperty('message')
  })

  it('do not hold for NaN', async () => {
    const { code } = await runWith('--max-ppl-ratio 100', { dense: 0.5, sparse: Number.NaN })
    expect(code).toBe(6)
  })
})

describe('refusals', () => {
  it.each([
    ['-m  --json', /no model was given/, /use -m FILE/],
    ['-b 4', /-b 4 is not above -ub 4/, /3 or more of -ub/],
    ['-c 14', /a window of 14 tokens is too small/, /raise -c/],
    ['-c 400', /the text has 100 tokens, fewer than one window of 400/, /longer text/],
    ['--max-continuation-ppl-ratio 2 -n 1', /needs a continuation of two tokens/, undefined],
  ])('%s', async (line, message, hint) => {
    const { error, out, log } = await runWith(line.replace('-m  ', '--model= '))
    expect(error).toMatchObject({ code: 'ERR_CLI_USAGE', message: expect.stringMatching(message) })
    const found = (error as { hint?: string }).hint
    if (hint) expect(found).toMatch(hint)
    expect([out, log.open]).toEqual(['', 0])
  })

  it('says that the logits do not fit into memory before they are allocated', async () => {
    const { error, log } = await runWith('--h2o-local 1,2,3', { nVocab: 2 ** 40 })
    expect(error).toMatchObject({
      code: 'ERR_H2O_CONTEXT_MEMORY',
      hint: expect.stringMatching(/lower -ub, -b/),
    })
    expect((error as Error).message).toMatch(/^logits of 4 contexts, .* for 12 tokens of .* do not fit into/)
    expect([log.contexts.length, log.open]).toEqual([1, 0])
  })

  it('warns of contexts that may not fit', async () => {
    const { code, err } = await runWith('', { kvBytes: 2 ** 50 })
    expect(code).toBe(0)
    expect(err).toMatch(/^h2o-prefill: warning: 2 contexts and their logits take about /m)
  })
})

describe('the text', () => {
  it('has what llama-perplexity --kl-divergence prints, then the tables', async () => {
    const { out } = await runWith('', halfAndQuarter)
    const lines = out.split('\n')
    expect(lines.slice(0, 7)).toEqual([
      'x.gguf (fake)',
      '100 tokens, 2 windows of 40: prompt 30, continuation 10; positions from 4 on count',
      '',
      '====== single-pass votes -b 12 -ub 4 L=2 H=1: h2o, 6 chunks ======',
      '                              :     prompt                 continuation',
      'Tokens                        :         52                         18',
      'Mean PPL(h2o)                 :   4.000000 ±   0.000000      2.000000 ±   0.000000',
    ])
    const labels = lines.map((line) => line.split(':')[0]?.trim())
    for (const label of [
      'Mean    KLD',
      'Maximum KLD',
      '99.9%   KLD',
      'Median  KLD',
      '5.0%   KLD',
      'Same top p',
    ]) {
      expect(labels).toContain(label)
    }
    expect(out).toMatch(/^Position in chunk +tokens +mean KLD +PPL ratio +same top p$/m)
    expect(out).toMatch(/^Position in prompt /m)
    expect(out).not.toContain('All settings')
  })

  it('ends with a table of several settings', async () => {
    const { out } = await runWith('--h2o-local 0,2 --h2o-heavy 0', halfAndQuarter)
    const table = out.slice(out.indexOf('All settings')).trim().split('\n')
    expect(table).toHaveLength(3)
    expect(table[1]).toMatch(/L=0 H=0 +dense \(off\) +1\.0000 +0\.000000 +100\.00 %/)
    expect(table[2]).toMatch(/L=2 H=0 +h2o +2\.0000 +0\.1438/)
  })

  it('tells selections apart', async () => {
    const { out } = await runWith('--h2o-select votes,query', halfAndQuarter)
    expect(out).toMatch(/^single-pass votes -b 12 -ub 4 L=2 H=1 /m)
    expect(out).toMatch(/^single-pass query -b 12 -ub 4 L=2 H=1 /m)
  })

  it('says on stderr how far it is', async () => {
    const { err } = await runWith('', halfAndQuarter)
    expect(err).toContain('compare: -ub 4, window 1/2, 12/40 tokens\n')
    expect(err).toMatch(/window 2\/2: \d+ ms\n {2}single-pass .*: PPL 4\.0000, 2\.0000 of dense, KLD 0\.1438/)
  })
})

describe('an end before the end', () => {
  it('is 130 at SIGINT, with nothing printed and everything disposed', async () => {
    let calls = 0
    const beforeCall = () => void (++calls === 5 && process.emit('SIGINT'))
    const before = process.listenerCount('SIGINT')
    const { code, out, err, log } = await runWith('', { beforeCall })
    expect([code, out, log.open]).toEqual([130, '', 0])
    expect(err).toMatch(/interrupted\n$/)
    expect(process.listenerCount('SIGINT')).toBe(before)
  })

  it('is quiet when the reader has left', async () => {
    const { api, log } = compareApi()
    const io = memoryIo({ stdin: CYCLE.repeat(25) })
    io.stdout.failWith = 'EPIPE'
    const { flags } = parseArgv<CompareFlags>(small.split(' '), spec)
    expect(await compare(flags as CompareFlags, io, api)).toBe(0)
    expect(io.stderr.text).not.toContain('error')
    expect(log.open).toBe(0)
  })

  it('lets errors through, and disposes everything', async () => {
    const boom = new Error('boom')
    const beforeCall = () => {
      throw boom
    }
    const { error, log } = await runWith('', { beforeCall })
    expect(error).toBe(boom)
    expect(log.open).toBe(0)
  })
})
