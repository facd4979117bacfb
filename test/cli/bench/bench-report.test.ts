// How results look: the four formats, the targets, the plot.
import { describe, expect, it } from 'vitest'
import { plot } from '../../../bench/plot.mjs'
import { type Target, targetsOf, verdictOf } from '../../../bench/targets.mjs'
import { formatters, type Heading } from '../../../src/ts/cli/bench/formats.js'
import { type Row, rowsOf } from '../../../src/ts/cli/bench/rows.js'
import { addonSample, job, profile, sample } from '../support/bench.js'

const heading: Heading = {
  model: 'm.gguf',
  repetitions: 2,
  answer: false,
  profile: false,
  machine: { cpu: 'CPU', cores: 2, memory_bytes: 2 ** 34, system: 'OS', node: 'v20', h2o_llama: '1' },
}

const group = (stockMs: number, ownMs: number, nPrompt: number) =>
  rowsOf([
    { job: job('stock-fa-on', 512, nPrompt), samples: new Map([[0, sample(stockMs)]]) },
    {
      job: job('h2o', 512, nPrompt),
      samples: new Map([
        [0, addonSample(ownMs)],
        [1, addonSample(ownMs + 10)],
      ]),
      profile,
    },
  ])
const rows: Row[] = [...group(1000, 500, 4096), ...group(2000, 980, 8192)]

const print = (format: keyof typeof formatters, head = heading) => {
  const formatter = formatters[format]()
  return (
    formatter.begin(head) +
    formatter.group(rows.slice(0, 2)) +
    formatter.group(rows.slice(2)) +
    formatter.end()
  )
}

describe('formats', () => {
  it('md is one table with a caption', () => {
    const [caption, empty, head, line, ...body] = print('md').trimEnd().split('\n')
    expect(caption).toContain('m.gguf; CPU, 2 cores, 16 GiB, OS; median (lowest .. highest) of 2')
    expect(empty).toBe('')
    expect(body).toHaveLength(4)
    for (const row of [line, ...body]) expect(row?.split('|')).toHaveLength(head?.split('|').length ?? 0)
    expect(body[1]).toContain('| h2o, 8 chunks | 2 | 0.51 (0.50 .. 0.51) |')
    expect(body[1]).toMatch(/\| stock-fa-on -b 2048 -ub 512 \|$/)
    expect(print('md', { ...heading, profile: true })).toContain('| 60.0 | 10.0 | 5.0 | 2.0 | 3.0 | 20.0 |')
  })

  it('tell the answer where one was measured, against whoever answers first', () => {
    const measured = (name: string, ttftMs: number, answerMs: number) => ({
      job: job(name, 512, 4096, 101),
      samples: new Map([[0, sample(ttftMs, null, answerMs)]]),
    })
    const own = addonSample(500)
    own.answerMs = 2000
    if (own.addon) own.addon.predictedSparse = 100
    const answers = rowsOf([
      measured('stock-fa-on', 900, 9000),
      measured('stock-fa-off', 1000, 4000),
      { job: job('h2o-query', 512, 4096, 101), samples: new Map([[0, own]]) },
    ])
    expect(answers[2]).toMatchObject({
      n_gen: 101,
      answer_tokens_per_second: 50,
      request_ms: { median: 2500 },
      against: 'stock-fa-on -b 2048 -ub 512',
      request_speedup: { median: 2 },
      request_against: 'stock-fa-off -b 2048 -ub 512',
    })
    const formatter = formatters.md()
    const text = formatter.begin({ ...heading, answer: true }) + formatter.group(answers)
    expect(text.trimEnd()).toMatch(
      /\| 101 \| 50\.0 \(100 sparse\) \| 2\.50 \| 2\.00 \| stock-fa-off -b 2048 -ub 512 \|$/,
    )
    expect(print('md')).not.toContain('request')
  })

  it('csv has a header and numbers', () => {
    const lines = print('csv').trimEnd().split('\n')
    expect(lines).toHaveLength(5)
    expect(lines[0]).toMatch(/^n_prompt,contender,/)
    expect(lines[2]).toMatch(/^4096,h2o,2,2048,512,on,h2o,,8,0,2,505,500,510,/)
    for (const line of lines) expect(line.split(',')).toHaveLength(lines[0]?.split(',').length ?? 0)
  })

  it('json is one object, jsonl one row per line', () => {
    expect(JSON.parse(print('json'))).toEqual(JSON.parse(JSON.stringify({ ...heading, rows })))
    const lines = print('jsonl').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(JSON.parse(JSON.stringify(rows)))
  })
})

describe('targets', () => {
  const target = (what: string, runs: { name: string; rows: Row[] }[]) =>
    targetsOf(runs).find((one) => one.what.startsWith(what)) as Target

  it('are not measured, met or missed', () => {
    expect(targetsOf([]).every((one) => verdictOf(one) === 'not measured')).toBe(true)
    const runs = [{ name: 'lengths', rows }]
    expect(target('speed-up at 4096', runs)).toMatchObject({ value: 2, least: 1.5 })
    expect(verdictOf(target('speed-up at 4096', runs))).toBe('met')
    expect(verdictOf(target('speed-up at 8192', runs))).toBe('missed')
    expect(verdictOf(target('speed-up at 16384', runs))).toBe('not measured')
    expect(target('attention of TTFT', runs).value).toBeCloseTo(0.2)
    expect(target('selection', runs).value).toBeCloseTo(0.1)
  })

  it('take lengths between whole chunks against the longest shorter one of the same run', () => {
    const between = { name: 'between', rows: [...group(1000, 500, 4096), ...group(1000, 600, 4608)] }
    const one = target('time per token at 4608 against 4096', [{ name: 'lengths', rows }, between])
    expect(one.value).toBeCloseTo((605 / 4608) * (4096 / 505))
  })

  it('hold buffers and memory against stock', () => {
    const runs = [{ name: 'memory', rows: group(1000, 500, 16384) }]
    expect(target('H2O buffers', runs).value).toBeCloseTo(2 ** 19 / 2 ** 26)
    expect(verdictOf(target('peak memory', runs))).toBe('not measured')
  })
})

describe('plot', () => {
  const svg = plot(rows, { title: 'a <b>', subtitle: 's' })

  it('has a line per contender, a point per length, and the speed-ups', () => {
    expect(svg.match(/<path /g)).toHaveLength(2)
    expect(svg.match(/<circle /g)).toHaveLength(4)
    expect(svg).toContain('>2.0×<')
    expect(svg).toContain('>stock llama.cpp, 2 s<')
    expect(svg).toContain('>H2O, votes, 0.98 s<')
    expect(svg).toContain('a &lt;b&gt;')
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('draws a single length, and none', () => {
    for (const some of [rows.slice(0, 2), []]) {
      expect(plot(some, { title: '', subtitle: '' })).not.toMatch(/NaN|Infinity|undefined/)
    }
  })
})
