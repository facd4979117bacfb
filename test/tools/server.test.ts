// llama-server of the patched tree with several slots: the prompt of each is sparse whatever the others do, and its answer is
// that of a server of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { type Answer, LlamaServer, type Question } from './llama-server.js'
import { calls, h2oLines, letters, modelFile, type Outcome } from './support.js'

const CHUNK = 64
const TAIL = 64 // dense, by default
const SLOT = 1280
const sizes = ['-b', '256', '-ub', String(CHUNK), '--h2o-local', '20', '--h2o-heavy', '20']
const slots = (n: number) => [...sizes, '-np', String(n), '-c', String(n * SLOT)]

const lengths = [700, 450, 611, 530]
const nSparse = lengths.reduce((sum, n) => sum + n - TAIL, 0)
const questions: Question[] = lengths.map((n, i) => ({
  prompt: letters(n, i + 1),
  n_predict: 10,
  n_probs: 2,
  id_slot: i,
  cache_prompt: false,
}))

const plain: ModelSpec = { arch: 'qwen3' }
const families: [string, ModelSpec][] = [
  ['plain', plain],
  ['windows', { arch: 'gemma3' }],
  ['hybrid', { arch: 'lfm2' }],
  ['delta nets', { arch: 'qwen35' }],
]

/** Calls and tokens by reason; those of sparse calls are `h2o`. */
function counts(outcome: Outcome): Record<string, { calls: number; tokens: number }> {
  const [text = ''] = calls(outcome)
  const found = text.matchAll(/(?:dense )?([\w-]+) \((\d+) calls?, (\d+) tokens?\)/g)
  return Object.fromEntries(
    [...found].map(([, name, n, m]) => [name, { calls: Number(n), tokens: Number(m) }]),
  )
}

const tokens = (answers: Answer[]) => answers.map((answer) => answer.tokens)

/**
 * The tokens of an answer up to the first that was nearly another. Rows that decode together have llama.cpp's attention, and a
 * row alone our exact kernel: their logits differ by some 0.01.
 */
function sureTokens({ tokens, completion_probabilities }: Answer): number[] {
  const gaps = completion_probabilities.map(
    ({ top_logprobs: [a, b] }) => (a?.logprob ?? 0) - (b?.logprob ?? 0),
  )
  const end = gaps.findIndex((gap) => gap < 0.05)
  return tokens.slice(0, end < 0 ? tokens.length : end)
}

function expectSame(answers: Answer[], own: Answer[]): void {
  const sure = own.map(sureTokens)
  expect(answers.map(({ tokens }, i) => tokens.slice(0, sure[i]?.length))).toEqual(sure)
  expect(sure.flat().length).toBeGreaterThan(own.length * 4)
}

/** The answers to all questions, one after the other, by a server with one slot. */
async function alone(model: string, ...args: string[]): Promise<Answer[]> {
  await using server = await LlamaServer.start(['-m', model, ...slots(1), ...args])
  const answers: Answer[] = []
  for (const question of questions) answers.push(await server.ask({ ...question, id_slot: 0 }))
  return answers
}

describe('llama-server', () => {
  test.each(families)('four clients at once, %s', async (_, spec) => {
    const model = await modelFile(spec)
    await using server = await LlamaServer.start(['-m', model, ...slots(4)])
    const answers = await Promise.all(questions.map((question) => server.ask(question)))
    const outcome = await server.stop()

    expectSame(answers, await alone(model))
    expect(h2oLines(outcome)[0]).toContain('prompts of more than 64 tokens (-ub) are prefilled sparsely')
    const { h2o, ...dense } = counts(outcome)
    expect(h2o?.tokens).toBe(nSparse)
    expect(Object.keys(dense)).toEqual(['one-chunk'])
  })

  test('prompts beside an answer', async () => {
    const model = await modelFile(plain)
    await using server = await LlamaServer.start(['-m', model, ...slots(4)])
    const [first, ...others] = questions as [Question, ...Question[]]
    const long = server.ask({ ...first, n_predict: 500 })
    while ((await server.metric('n_decode_total')) < 20);
    const answers = await Promise.all(others.map((question) => server.ask(question)))
    const begin = await long
    const nCalls = await server.metric('n_decode_total')
    const { h2o, ...dense } = counts(await server.stop())

    expectSame([begin, ...answers], await alone(model))
    expect(h2o?.tokens).toBe(nSparse)
    // a call counts for each of its reasons
    expect((h2o?.calls ?? 0) + (dense['one-chunk']?.calls ?? 0)).toBeGreaterThan(nCalls)
  })

  test('a shared cache: prompts are sparse one at a time', async () => {
    const model = await modelFile(plain)
    await using server = await LlamaServer.start(['-m', model, ...slots(4), '-kvu'])
    const inTurn: Answer[] = []
    for (const question of questions) inTurn.push(await server.ask(question))
    await Promise.all(questions.map((question) => server.ask(question)))
    const outcome = await server.stop()

    expectSame(inTurn, await alone(model))
    expect(h2oLines(outcome)[1]).toContain('the sequences share one cache')
    const { h2o, ...dense } = counts(outcome)
    expect(h2o?.tokens).toBeGreaterThan(nSparse)
    expect(Object.keys(dense).sort()).toEqual(['kv-not-contiguous', 'one-chunk'])
  })

  test.each(families)('a slot that was saved goes on in another, %s', async (_, spec) => {
    const folder = mkdtempSync(join(tmpdir(), 'h2o-slots-'))
    const model = await modelFile(spec)
    await using server = await LlamaServer.start(['-m', model, ...slots(2), '--slot-save-path', folder])
    const [question] = questions as [Question]
    const further = { ...question, prompt: question.prompt + letters(300, 9), cache_prompt: true }

    await server.ask({ ...question, n_predict: 1 })
    await server.post('/slots/0?action=save', { filename: 'slot' })
    const own = await server.ask(further)
    await server.post('/slots/1?action=restore', { filename: 'slot' })
    const other = await server.ask({ ...further, id_slot: 1 })

    expect(other.tokens).toEqual(own.tokens)
    expect(Object.keys(counts(await server.stop())).sort()).toEqual(['h2o', 'one-chunk'])
    rmSync(folder, { recursive: true })
  })

  test.each<[string, string[], Partial<Question>[], string[]]>([
    ['prompts in memory', [], [{ id_slot: -1 }, { id_slot: -1, prompt: letters(500, 8) }], []],
    [
      '--cache-reuse',
      ['--cache-reuse', '64'],
      [{ prompt: questions[0]?.prompt.slice(100) + letters(300, 9) }],
      ['kv-not-contiguous'],
    ],
    [
      '--context-shift',
      ['--context-shift'],
      [{ n_predict: SLOT }, { prompt: questions[0]?.prompt + letters(400, 9) }],
      [],
    ],
    ['drafts', ['--spec-type', 'ngram-simple'], [{ n_predict: 200 }], []],
    ['several answers', [], [{ n_cmpl: 2 }], []],
  ])('%s: a cold prompt behind it is sparse, with its own answer', async (_, args, before, reasons) => {
    const model = await modelFile(plain)
    await using server = await LlamaServer.start(['-m', model, ...slots(2), ...args])
    const [first] = questions as [Question]
    for (const fields of [{}, ...before]) await server.ask({ ...first, cache_prompt: true, ...fields })
    const answers: Answer[] = []
    for (const question of questions) answers.push(await server.ask({ ...question, id_slot: 0 }))

    expect(tokens(answers)).toEqual(tokens(await alone(model, ...args)))
    expect(Object.keys(counts(await server.stop())).sort()).toEqual(['h2o', ...reasons, 'one-chunk'])
  })
})
