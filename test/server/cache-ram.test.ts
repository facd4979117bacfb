/** --cache-ram: what was read is kept when another conversation takes the context. */

import { afterEach, describe, expect, it } from 'vitest'
import { cacheBytes } from '../../src/ts/cli/serve/cache-ram.js'
import type { Context } from '../../src/ts/index.js'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { handleOf } from '../../src/ts/sequence.js'
import { SlotPool, slotsOf } from '../../src/ts/server/pool.js'
import type { ServedPrompt } from '../../src/ts/server/prompt.js'
import { Recall } from '../../src/ts/server/recall.js'
import { StateCache } from '../../src/ts/server/state-cache.js'
import { someTokens, tinyContext, tinyModel } from '../ts/support.js'
import { someText, startServer, type TestServer, type TestServerOptions, until } from './support.js'

const user = (content: string) => ({ role: 'user' as const, content })
const said = (content: string) => ({ role: 'assistant' as const, content })
type Message = ReturnType<typeof user> | ReturnType<typeof said>

/** Users with a text each and several questions, by turns. Tokens of all prompts, and those that were not read. */
async function conversations(s: TestServer, { users = 4, questions = 3, length = 2500 } = {}) {
  const chats: Message[][] = Array.from({ length: users }, (_, i) => [user(someText(length, 50 + i))])
  const sum = { tokens: 0, cached: 0, most: 0 }
  for (let question = 0; question < questions; question++) {
    for (const chat of chats) {
      chat.push(user(`question ${question}?`))
      const body = { model: 'any', messages: [...chat] }
      const { choices, usage } = await s.openai.chat.completions.create(body)
      const answer = choices[0]?.message.content ?? ''
      expect(answer).toBe((await s.fresh(body)).text)
      chat.push(said(answer))
      sum.tokens += usage?.prompt_tokens ?? 0
      sum.cached += usage?.prompt_tokens_details?.cached_tokens ?? 0
      sum.most = Math.max(sum.most, await s.metric('h2o_cache_ram_bytes'))
    }
  }
  return sum
}

describe('four users with a text each and three questions each', () => {
  it.each([1, 2])('read their texts once, with %i slots', async (parallel) => {
    await using s = await startServer({ parallel })
    const { tokens, cached } = await conversations(s)
    expect(cached / tokens).toBeGreaterThan(0.55) // two of three prompts, but for chunks at their ends
    expect(await s.metric('h2o_cache_ram_states')).toBeGreaterThanOrEqual(4 - parallel)
    expect(await s.metric('h2o_cache_ram_loaded_total')).toBeGreaterThan(4)
  })

  it('read them three times without memory for them', async () => {
    await using s = await startServer({ cacheBytes: 0 })
    const { cached } = await conversations(s)
    expect(cached).toBe(0)
    expect(await s.metric('h2o_cache_ram_saved_total')).toBe(0)
  })

  it('keep within the bound: what was used last stays', async () => {
    await using unbound = await startServer()
    await conversations(unbound, { questions: 1 })
    const one = (await unbound.metric('h2o_cache_ram_bytes')) / 3
    const cacheBytes = Math.floor(2.5 * one)
    await using s = await startServer({ cacheBytes })
    const { cached, most } = await conversations(s)
    expect(most).toBeGreaterThan(one)
    expect(most).toBeLessThanOrEqual(cacheBytes)
    expect(cached).toBe(0) // four by turns, and room for three with the context's: the oldest goes each time
    expect(await s.metric('h2o_cache_ram_evicted_total')).toBeGreaterThan(4)
  })
})

it('a short request between two turns costs nothing of the chat', async () => {
  await using s = await startServer()
  const chat: Message[] = [user(someText(3000, 9))]
  const ask = async (messages: Message[]) => {
    const body = { model: 'any', messages }
    const { choices, usage } = await s.openai.chat.completions.create(body)
    expect(choices[0]?.message.content).toBe((await s.fresh(body)).text)
    return {
      answer: choices[0]?.message.content ?? '',
      cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
    }
  }
  chat.push(said((await ask(chat)).answer), user('and then?'))
  chat.push(said((await ask(chat)).answer), user('and now?'))
  await ask([user('give it a title')])
  expect((await ask(chat)).cached).toBeGreaterThan(2800)
})

it('a prompt that is to be read as a whole loads nothing', async () => {
  await using s = await startServer()
  const [text, other] = [someText(1500, 5), someText(1500, 6)]
  for (const prompt of [text, other]) await s.post('/v1/completions', { prompt })
  const answer = await s.post('/v1/completions', { prompt: text, cache_prompt: false })
  expect(await answer.json()).toMatchObject({ usage: { prompt_tokens_details: { cached_tokens: 0 } } })
  expect(await s.metric('h2o_cache_ram_loaded_total')).toBe(0)
  await s.post('/v1/completions', { prompt: other })
  expect(await s.metric('h2o_cache_ram_loaded_total')).toBe(1)
})

describe('of several keys', () => {
  const apiKeys = ['one', 'two']
  const started: TestServer[] = []
  const start = async (options: TestServerOptions) => {
    const s = await startServer({ apiKeys, ...options })
    started.push(s)
    return s
  }
  afterEach(async () => {
    for (const s of started.splice(0)) await s[Symbol.asyncDispose]()
  })
  const ask = async (s: TestServer, key: string, prompt: string) => {
    const body = { prompt, max_tokens: 2 }
    const answer = await s.post('/v1/completions', body, { authorization: `Bearer ${key}` })
    const { choices, usage } = (await answer.json()) as {
      choices: { text: string }[]
      usage: { prompt_tokens_details: { cached_tokens: number } }
    }
    expect(choices[0]?.text).toBe((await s.fresh(body)).text)
    return usage.prompt_tokens_details.cached_tokens
  }
  const [text, other] = [someText(1500, 3), someText(1500, 4)]

  it('each gets its own back, and no other', async () => {
    const s = await start({ separateKeys: true })
    expect(await ask(s, 'one', text)).toBe(0)
    expect(await ask(s, 'two', other)).toBe(0)
    expect(await ask(s, 'two', text)).toBe(0) // it is in memory, of the first key
    expect(await ask(s, 'one', text)).toBeGreaterThan(1300)
    expect(await ask(s, 'two', other)).toBeGreaterThan(1300)
    expect(await ask(s, 'one', other)).toBe(0)
  })

  it('share it where they are not separate', async () => {
    const s = await start({})
    expect(await ask(s, 'one', text)).toBe(0)
    expect(await ask(s, 'one', other)).toBe(0)
    expect(await ask(s, 'two', text)).toBeGreaterThan(1300)
  })

  it('a slot that changes hands offers the new key nothing of the key before', async () => {
    await using context = await tinyContext({ nCtx: 2048, parallel: 2 })
    const pool = new SlotPool(slotsOf(context), 9)
    const recall = new Recall(2 ** 30, (error) => expect.unreachable(String(error)))
    const answer = async (tokens: Int32Array, owner: string) => {
      const prompt = { tokens, denseTail: 20 } as ServedPrompt
      const turn = pool.enter(owner)
      const taken = await turn.slot(prompt, new AbortController().signal)
      await recall.prepare(taken, prompt)
      const { cached } = await taken.slot.prefill(tokens, { denseTail: 20 })
      turn.leave()
      return cached
    }
    const secret = someTokens(1500, 3)
    await answer(secret, 'one')
    await answer(someTokens(100, 4), 'one')
    expect(await Promise.all([answer(someTokens(90, 5), 'two'), answer(secret, 'two')])).toEqual([0, 0])
    expect(await answer(secret, 'two')).toBeGreaterThan(1300)
  })

  it('a context that another key used is empty before anything else happens, a client that leaves too', async () => {
    await using context = await tinyContext({ nCtx: 2048, h2o: { local: 16, heavy: 16, select: 'query' } })
    const recall = new Recall(2 ** 30, (error) => expect.unreachable(String(error)))
    const tokens = someTokens(1500)
    await context.prefill(tokens)
    const prompt = { tokens, denseTail: 20 }
    await recall.prepare(
      { slot: context, owner: 'two', heldBy: 'one', others: [], isStillOf: () => true, cleared() {} },
      prompt,
    )
    expect([context.position, recall.saved, recall.loaded]).toEqual([0, 1, 0])
    await recall.prepare(
      { slot: context, owner: 'one', heldBy: 'two', others: [], isStillOf: () => true, cleared() {} },
      prompt,
    )
    expect([context.position, recall.saved, recall.loaded]).toEqual([1500, 1, 1])
    expect(recall.cache.size).toBe(0) // it is in the context now
  })
})

describe('no byte is taken beyond the bound, while a state is made, of', () => {
  const models: [string, Partial<ModelSpec>][] = [
    ['attention', {}],
    ['sliding windows', { arch: 'gemma3', layers: 6 }],
    ['recurrent layers', { arch: 'mamba' }],
    ['both kinds of layers', { arch: 'lfm2', layers: 6 }],
  ]
  it.each(models)('%s', async (_, spec) => {
    await using context = await tinyContext({ nCtx: 2048, model: await tinyModel(spec), onWarning() {} })
    const mine = { slot: context, owner: 1, heldBy: 1, others: [], isStillOf: () => true, cleared() {} }
    for (const length of [384, 1536]) {
      await context.prefill(someTokens(length, length), { denseTail: 0 })
      const tokens = context[handleOf]().held().byteLength
      const { byteLength } = await context.saveState()
      const asked: number[] = []
      await context[handleOf]().saveIf((bytes) => asked.push(bytes) < 0)
      expect(asked).toEqual([byteLength])
      for (const [room, saved] of [
        [byteLength + tokens - 1, 0],
        [byteLength + tokens, 1],
      ] as const) {
        const recall = new Recall(room, (error) => expect.unreachable(String(error)))
        await recall.prepare(mine, { tokens: someTokens(50, 2), denseTail: 20 })
        expect([recall.saved, recall.cache.bytes]).toEqual([saved, saved * room])
      }
    }
  })
})

describe('two contexts', () => {
  const context = () => tinyContext({ nCtx: 2048, h2o: { local: 16, heavy: 16, select: 'query' } })
  const prompt = { tokens: someTokens(1500, 7), denseTail: 20 }
  const mine = { owner: 'one', heldBy: 'one', others: [], isStillOf: () => true, cleared() {} }

  it('that are saved at once keep the bound', async () => {
    await using one = await context()
    await using two = await context()
    await one.prefill(someTokens(1500, 1))
    await two.prefill(someTokens(1500, 2))
    const { byteLength } = await one.saveState()
    const recall = new Recall(1.5 * byteLength, (error) => expect.unreachable(String(error)))
    await Promise.all([one, two].map((slot) => recall.prepare({ slot, ...mine }, prompt)))
    expect([recall.saved - recall.cache.evicted, recall.cache.size]).toEqual([1, 1])
    const { saved } = recall
    const other = recall.cache.covers('one', one[handleOf]().held()) ? two : one
    await recall.prepare({ slot: other, ...mine }, prompt) // the first one's room is its own again
    expect([recall.saved, recall.cache.size, recall.cache.evicted]).toEqual([saved + 1, 1, saved])
  })

  it('of which one cannot be loaded: it is empty, and its text is read', async () => {
    await using broken = await context()
    const failures: unknown[] = []
    const recall = new Recall(2 ** 30, (error) => failures.push(error))
    recall.cache.put({ owner: 'one', tokens: prompt.tokens, state: new Uint8Array(1000) })
    await recall.prepare({ slot: broken, ...mine }, prompt)
    expect([failures.length, broken.position, recall.loaded, recall.cache.size]).toEqual([1, 0, 0, 0])
    await broken.prefill(prompt.tokens)
    expect(broken.position).toBe(1500)
  })
})

describe('two slots', () => {
  it('share what one of them holds, while it goes on answering', async () => {
    await using s = await startServer({ parallel: 2 })
    const prompt = someText(1500, 1)
    const body = { prompt, max_tokens: 40 }
    const expected = await s.fresh(body)
    const first = await s.post('/v1/completions', { ...body, max_tokens: 400, stream: true })
    const events = (first.body as ReadableStream<Uint8Array>).getReader()
    await events.read()
    await until(() => (s.slots[0]?.position ?? 0) > 1400)
    const { choices, usage } = await s.openai.completions.create({ model: 'any', ...body })
    expect(choices[0]?.text).toBe(expected.text)
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(1300)
    expect(await s.metric('h2o_tokens_copied_total')).toBeGreaterThan(1300)
    await events.cancel()
  })
})

describe('the memory', () => {
  const gib = 2 ** 30
  const context = (kvBytes: number) =>
    ({ model: { sizeBytes: gib }, memory: { kvBytes, computeBytes: 0 } }) as unknown as Context

  it.each([
    ['of a large machine: 8 GiB', undefined, 64 * gib, 8 * gib],
    ['of a small one: half of what is left', undefined, 8 * gib, 3 * gib],
    ['of one that is too small: none', undefined, gib, 0],
    ['that is asked for', 100, gib, 100 * 2 ** 20],
    ['off', 0, 64 * gib, 0],
    ['without a bound', -1, gib, Number.POSITIVE_INFINITY],
  ])('%s', (_, asked, machine, bytes) => {
    expect(cacheBytes(asked, context(gib), machine)).toBe(bytes)
  })

  it('takes everything where it has no bound', async () => {
    const cache = new StateCache(cacheBytes(-1, context(gib), gib))
    const rooms: boolean[] = []
    await cache.keep(async (hasRoomFor) => {
      rooms.push(hasRoomFor(100 * gib))
      return undefined
    })
    expect(rooms).toEqual([true])
  })

  it('has no room twice for what is being saved, and has it again behind it', async () => {
    const cache = new StateCache(100)
    const rooms: boolean[] = []
    await cache.keep(async (hasRoomFor) => {
      rooms.push(hasRoomFor(60), hasRoomFor(60))
      return undefined
    })
    await expect(
      cache.keep(async (hasRoomFor) => {
        rooms.push(hasRoomFor(60))
        throw new Error('it cannot be saved')
      }),
    ).rejects.toThrow('cannot')
    const saved = { owner: 0, tokens: new Int32Array(5), state: new Uint8Array(40) }
    await cache.keep(async (hasRoomFor) => (hasRoomFor(60) ? saved : undefined))
    expect([rooms, cache.size, cache.bytes]).toEqual([[true, false, true], 1, 60])
  })

  it('holds a text once, and the longest form of it', () => {
    const cache = new StateCache(1000)
    const state = new Uint8Array(100)
    const put = (...tokens: number[]) => cache.put({ owner: 0, state, tokens: Int32Array.from(tokens) })
    put(1, 2)
    put(1, 2, 3)
    put(4)
    expect([cache.size, cache.bytes]).toEqual([2, 200 + 4 * 4])
    expect(cache.covers(0, Int32Array.of(1, 2))).toBe(true)
    expect(cache.covers(1, Int32Array.of(1, 2))).toBe(false)
    cache.put({ owner: 0, state: new Uint8Array(2000), tokens: Int32Array.of(1, 2, 3, 4) }) // no room, whatever it covers
    expect(cache.size).toBe(2)
    const best = cache.best(0, (tokens) => tokens.length)
    expect([...(best?.saved.tokens ?? [])]).toEqual([1, 2, 3])
  })
})
