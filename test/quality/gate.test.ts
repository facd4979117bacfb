// What H2O may cost at most, on the model that can be asked. The whole picture is the report of `npm run quality`.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { heldOut } from '../../bench/quality/held-out.mjs'
import { makeItems } from '../../bench/quality/items.mjs'
import { main as settings } from '../../bench/quality/settings.mjs'
import { Tally } from '../../bench/quality/tally.mjs'
import { askAll } from '../../bench/quality/tasks.mjs'
import { main as cli } from '../../src/ts/cli/main.js'
import * as api from '../../src/ts/index.js'
import { memoryIo } from '../cli/support/memory-io.js'
import { plainPython } from '../model/python.js'
import { scratch } from '../ts/support.js'

const file = fileURLToPath(new URL('../../model/recall-q8_0.gguf', import.meta.url))
const LENGTH = 4096
const CONTEXTS = 20
/**
 * `fewer`: answers in a hundred that H2O may give fewer than dense: next to none where the question is decoded densely
 * behind the prompt. In the prompt, votes find what stands in the question's chunk or in the local memory, two of the
 * five depths.
 *
 * `ratio`: perplexity over that of dense prefill, of the prompt and of what is decoded densely behind it. Measured
 * 1.072 and 1.003 with votes, 1.005 and 1.000 with query.
 */
const limits = {
  votes: { fewer: { behind: 5, prompt: 60 }, ratio: { prompt: 1.085, continuation: 1.01 } },
  query: { fewer: { behind: 5, prompt: 10 }, ratio: { prompt: 1.015, continuation: 1.005 } },
}

const single = settings.filter(({ schedule, heavy }) => schedule === 'single-pass' && heavy > 0)

describe.skipIf(!plainPython).each(single)('$select with S=1024, L=H=256 on the recall model', (setting) => {
  const { fewer, ratio } = limits[setting.select]

  it(`finds passkeys in ${LENGTH} tokens about as often as dense attention`, async () => {
    const items = makeItems({ text: heldOut().text, chunk: setting.S, seed: 7 }, [
      { tasks: ['passkey'], lengths: [LENGTH], contexts: CONTEXTS },
    ])
    const model = await api.loadModel(file)
    const tally = new Tally()
    for (const one of [null, setting]) {
      await askAll(api, one, items, { model }, (item, row) =>
        tally.add({ setting: one?.label ?? 'dense', task: item.task, length: item.length, ...row }),
      )
    }
    await model.dispose()
    const percent = (name: string, ask: string) => {
      const cell = tally.cells().find((one) => one.setting === name && one.ask === ask)
      return (100 * (cell?.right ?? 0)) / (cell?.n ?? 1)
    }
    const dense = percent('dense', 'behind')
    expect(dense).toBeGreaterThanOrEqual(95)
    expect(percent(setting.label, 'behind')).toBeGreaterThanOrEqual(dense - fewer.behind)
    expect(percent(setting.label, 'prompt')).toBeGreaterThanOrEqual(dense - fewer.prompt)
  })

  it('keeps the perplexity of prompt and continuation', async () => {
    const text = scratch('held-out.txt')
    writeFileSync(text, heldOut().text)
    const io = memoryIo()
    const code = await cli(
      [
        ...['compare', '-m', file, '-f', text, '-c', `${LENGTH}`, '--chunks', '3'],
        ...['-ub', `${setting.S}`, '--h2o-local', `${setting.local}`, '--h2o-heavy', `${setting.heavy}`],
        ...['--h2o-select', setting.select],
        ...['--max-ppl-ratio', `${ratio.prompt}`, '--max-continuation-ppl-ratio', `${ratio.continuation}`],
      ],
      io,
    )
    expect(code, io.stderr.text).toBe(0)
  })
})
