// One report: items and text made, every setting asked, every figure in one object.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../scripts/lib/fail.mjs'
import { temporaryFolder } from '../temporary.mjs'
import { perplexityByContext, windowsOf } from './by-context.mjs'
import { compareSettings } from './compare.mjs'
import { heldOut, longTexts } from './held-out.mjs'
import { makeItems } from './items.mjs'
import { memorySets } from './memory-sets.mjs'
import { ablations, distinct, keyOf, S, tails } from './settings.mjs'
import { Tally } from './tally.mjs'
import { askAll } from './tasks.mjs'
import { prefillTimes } from './times.mjs'

/**
 * @param {typeof import('../../dist/index.js')} api  @param {object} set of cases.mjs
 * @param {{ model: string, threads: number, lanes: number, seed: number, skipWindows: number }} options  @param {(line: string) => void} say
 */
export async function measure(api, set, options, say) {
  const partial = [...tails, ...ablations.flatMap(({ points }) => points.map(({ setting }) => setting))]
  const settings = set.ablation ? distinct([...set.settings, ...partial]) : set.settings
  const { text, ...source } = heldOut()
  const model = await api.loadModel(options.model)
  const seconds = {}
  const timed = async (name, body) => {
    const start = performance.now()
    const value = await body()
    seconds[name] = Math.round((performance.now() - start) / 1000)
    say(`${name}: ${seconds[name]} s`)
    return value
  }
  try {
    const items = makeItems({ text, chunk: S, seed: options.seed }, set.tasks)
    checkTokenizer(model, items[0])
    const tokens = model.tokenize(text, { addSpecial: false })
    const common = { model, threads: options.threads }
    const skipped = set.text ? options.skipWindows * Math.max(...set.text.lengths) : 0
    const windows = skipped > 0 ? model.detokenize(tokens.subarray(skipped)) : text
    const ids = items.reduce((longest, item) => (item.ids.length > longest.ids.length ? item : longest)).ids
    return {
      description: model.description,
      text: { ...source, tokens: tokens.length, skipped },
      settings: set.settings.map((one) => ({ ...one, key: keyOf(one) })),
      tails: tails.map((one) => ({ ...one, key: keyOf(one) })),
      ...(await timed('tasks', () =>
        askSettings(api, set, settings, items, { model, lanes: options.lanes }, say),
      )),
      perplexity:
        set.text && (await timed('perplexity', () => perplexities(set, settings, windows, options, say))),
      memory: set.memory && (await timed('memory', () => memorySets(api, set.memory, { ...common, ids }))),
      times:
        set.times &&
        (await timed('times', () => prefillTimes(api, settings, { ...common, ...set.times, ids }))),
      byContext:
        set.byContext && (await timed('byContext', () => byContext(api, set.byContext, tokens, common))),
      seconds,
    }
  } finally {
    await model.dispose()
  }
}

/**
 * Of texts that are as long as the context, and of the same text as everything else, where it reaches into other files.
 */
async function byContext(api, { lengths, windows: most }, tokens, common) {
  const longest = Math.max(...lengths)
  const texts = longTexts()
  const alone = texts.flatMap(({ text }) =>
    windowsOf(common.model.tokenize(text, { addSpecial: false }), longest),
  )
  const figures = (windows) => perplexityByContext(api, { ...common, lengths, windows })
  return {
    texts: texts.map(({ name }) => name),
    alone: await figures(alone.slice(0, most)),
    mixed: await figures(windowsOf(tokens, longest, most)),
  }
}

/** Items are token ids, so the model has to have the tokenizer of model/. */
function checkTokenizer(model, { ids }) {
  const some = ids.slice(1, 200)
  const text = model.nVocab > Math.max(...ids) ? model.detokenize(some) : ''
  const again = Array.from(model.tokenize(text, { addSpecial: false }))
  if (text === '' || model.bosToken !== ids[0] || model.detokenize(again) !== text) {
    throw new Failure('the model has another tokenizer than model/merges.txt, in whose tokens the items are.')
  }
}

/** Counts of all items in the set's settings, and of a part of the items in all settings. */
async function askSettings(api, set, settings, items, options, say) {
  const part = new Set(set.ablation ? firstContexts(items, set.ablation) : [])
  const [tasks, ablation] = [new Tally(), new Tally()]
  const ask = async (setting, some) => {
    const start = performance.now()
    await askAll(api, setting, some, options, (item, row) => {
      const { task, length } = item
      const full = { setting: setting ? keyOf(setting) : 'dense', task, length, ...row }
      if (some === items) tasks.add(full)
      if (part.has(item)) ablation.add(full)
    })
    const seconds = ((performance.now() - start) / 1000).toFixed(0)
    say(`${setting?.label ?? 'dense'}: ${some.length} contexts, ${seconds} s`)
  }
  await ask(null, items)
  for (const setting of settings) await ask(setting, set.settings.includes(setting) ? items : [...part])
  return { tasks: tasks.cells(), ablation: ablation.cells() }
}

function firstContexts(items, { length, contexts }) {
  return Object.entries(contexts).flatMap(([task, count]) =>
    items.filter((item) => item.task === task && item.length === length).slice(0, count),
  )
}

/** The set's settings at every length, all of them at the longest; the same text at each. */
async function perplexities({ settings: few, text: { lengths, windows } }, all, text, options, say) {
  const folder = temporaryFolder('quality')
  try {
    const file = join(folder.path, 'text')
    writeFileSync(file, text)
    const longest = Math.max(...lengths)
    const rows = []
    for (const length of lengths) {
      const settings = length === longest ? all : few
      const skip = Math.max(...settings.map((one) => one.S))
      const windowsHere = windows * Math.floor(longest / length)
      rows.push(
        ...(await compareSettings(settings, { ...options, file, length, windows: windowsHere, skip }, say)),
      )
    }
    return rows
  } finally {
    folder.remove()
  }
}
