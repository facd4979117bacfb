// Asks a model about texts whose answers are known, in every setting.

import { availableParallelism } from 'node:os'
import { contextOptions, Reader } from './reader.mjs'

/**
 * The rows of one item: of an H2O context both ways to ask, of a dense one the only one that there is. The second way
 * asks the next of the item's questions after the prompt that ended with the one before.
 *
 * @returns {Promise<{ ask: string, where: number, right: boolean }[]>}
 */
export async function askItem(ctx, { ids, asks }) {
  const reader = new Reader(ctx)
  if (asks[0].at !== undefined) {
    const right = await reader.predicts(ids, asks)
    return asks.map(({ where }, i) => ({ ask: 'inside', where, right: right[i] }))
  }
  const rows = []
  await reader.open(ids, asks.length)
  for (const [i, asked] of asks.entries()) {
    if (ctx.h2o.covered) {
      const { logits } = await reader.askInPrompt(asked.question)
      rows.push({ ask: 'prompt', where: asked.where, right: await reader.answers(logits, asked.answer) })
    }
    const next = asks[(i + 1) % asks.length]
    const { logits } = await reader.askBehind(next.question)
    rows.push({ ask: 'behind', where: next.where, right: await reader.answers(logits, next.answer) })
  }
  return rows
}

/**
 * All items in one setting, on as many contexts of one thread each as there are cores: the steps of a small model are
 * too short to be shared out.
 *
 * @param {{ createContext: Function }} api  @param {Setting | null} setting null: dense
 * @param {(item: { task: string, length: number }, row: { ask: "prompt" | "behind" | "inside", where: number, right: boolean }) => void} onRow
 */
export async function askAll(api, setting, items, options, onRow) {
  const { model, lanes = availableParallelism(), threads = 1 } = options
  // the faster one: llama.cpp's flash attention of a few tokens over many is slow on a CPU, that of a long prompt is
  // not
  const flashAttn = setting ? 'off' : 'auto'
  // a little more than the text: what is asked behind it
  const nCtx = Math.max(...items.map(({ ids }) => ids.length)) + 64
  const queue = items.values()
  const lane = async () => {
    const ctx = await api.createContext(contextOptions(setting, { model, nCtx, threads, flashAttn }))
    try {
      if (setting) checkSetting(ctx, setting)
      for (const item of queue) {
        for (const row of await askItem(ctx, item)) onRow(item, row)
      }
    } finally {
      await ctx.dispose()
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane))
}

/** What is reported under a setting's name has to be that setting. */
function checkSetting({ h2o }, { label, select, local, heavy }) {
  if (!h2o.covered) throw new Error(`${label}: every prefill would be dense (${h2o.reason})`)
  if (h2o.select !== select) throw new Error(`${label}: the selection is ${h2o.select}`)
  if (h2o.local !== local || h2o.heavy !== heavy) {
    throw new Error(`${label}: L and H were lowered to ${h2o.local} and ${h2o.heavy}`)
  }
}
