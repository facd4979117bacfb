// One report on a real model: tasks at several lengths, then windows of books.

import { distinct, keyOf } from '../quality/settings.mjs'
import { ask, askAlone, askInside, open } from './ask.mjs'
import { books } from './books.mjs'
import { places } from './chat.mjs'
import { insideTasks, makeInside } from './inside.mjs'
import { makeItem } from './items.mjs'
import { kinds, predict, windows } from './predict.mjs'
import { settings as allSettings, otherDense } from './settings.mjs'

/** A task that dense attention gets right less often says nothing of sparse attention. */
export const ABLE = 0.5

/**
 * @param {typeof import('../../dist/index.js')} api
 * @param {{ file: string, chat: string, lengths: number[], tasks: string[], items: number, inside: number, alone: number, windows: number, settings: string[], otherDense: boolean, seed: number, threads: number }} options
 *   items: of each task and length; inside: prompts with questions inside, of each kind and length; alone: of the
 *   questions of each such prompt, how many are asked alone; otherDense: inside and alone also by dense attention of
 *   another rounding; windows: of each kind of text and length
 * @param {import('./journal.mjs').Journal} journal
 */
export async function measure(api, options, journal, say) {
  const model = await api.loadModel(options.file)
  try {
    const library = books()
    const wanted = allSettings.filter(({ label }) => options.settings.includes(label))
    const settings = await servedSettings(api, model, wanted)
    const rows = []
    for (const length of options.lengths) {
      const few = settingsAt(length, options, settings)
      rows.push(...(await askAll(api, model, library, length, few, options, journal, say)))
      rows.push(...(await askAllInside(api, model, library, length, few, options, journal, say)))
    }
    const predictions = []
    for (const length of options.lengths) {
      const few = settingsAt(length, options, settings)
      for (const kind of kinds) {
        const some = windows(model, { kind, library, seed: options.seed, length, most: options.windows })
        for (const [i, { text }] of some.entries()) {
          const what = `${kind}/${length}/${i}/${few.map(keyOf).join('+')}`
          const found = await journal.once(what, () => predict(few, text, { ...options, length }, say))
          predictions.push(...found.map((row) => ({ ...row, length, kind })))
        }
      }
    }
    return {
      description: model.description,
      books: library.map(({ texts, ...book }) => book),
      settings: [...others(options), ...settings].map((one) => ({ ...one, key: keyOfAny(one) })),
      rows,
      predictions,
    }
  } finally {
    await model.dispose()
  }
}

/** Those in which the model's prefill is sparse: two-pass needs attention to all positions in every layer. */
async function servedSettings(api, model, settings) {
  const served = []
  for (const setting of settings) {
    const context = await open(api, model, setting, 4 * setting.S, 1)
    if (context.h2o.covered) served.push(setting)
    await context.dispose()
  }
  return served
}

function settingsAt(length, { lengths }, settings) {
  return distinct(settings.filter(({ short }) => !short || length === Math.min(...lengths)))
}

/** The question at the end in every setting, elsewhere in those that are for it. */
async function askAll(api, model, library, length, settings, options, journal, say) {
  const contexts = new Map()
  const contextOf = async (setting) => {
    const key = setting ? keyOf(setting) : 'dense'
    if (!contexts.has(key)) contexts.set(key, await open(api, model, setting, length, options.threads))
    return contexts.get(key)
  }
  const rows = []
  try {
    for (const task of options.tasks) {
      const items = Array.from({ length: options.items }, (_, index) =>
        makeItem(model, { ...options, essay: library[0].texts[0] }, task, length, index),
      )
      const measured = async (setting, place) => {
        const own = []
        for (const item of items) {
          const what = { task, length, place, setting: setting ? keyOf(setting) : 'dense', index: item.index }
          const found = await journal.once(Object.values(what).join('/'), async () =>
            ask(await contextOf(setting), item, place, options.chat),
          )
          own.push(rowOf(what, found))
        }
        rows.push(...own)
        const share = sum(own, 'right') / sum(own, 'n')
        say(`${task} ${length} ${place} ${setting?.label ?? 'dense'}: ${(100 * share).toFixed(0)} %`)
        return share
      }
      for (const place of places) {
        if ((await measured(null, place)) < ABLE) continue
        const asked = settings.filter(({ alone }) => place === 'end' || alone)
        for (const setting of asked) await measured(setting, place)
      }
    }
  } finally {
    for (const context of contexts.values()) await context.dispose()
  }
  return rows
}

/** Questions inside of a prompt, in the settings that are meant for them. */
async function askAllInside(api, model, library, length, settings, options, journal, say) {
  if (options.inside === 0) return []
  const essay = library[0].texts[0]
  const items = insideTasks.flatMap(({ name }) =>
    Array.from({ length: options.inside }, (_, index) =>
      makeInside(model, { ...options, essay }, name, length, index),
    ),
  )
  const rows = []
  const heads = new Map() // by item: what dense says
  const asked = [null, ...others(options), ...settings.filter(({ inside }) => inside)]
  for (const setting of asked) {
    const label = keyOfAny(setting)
    let context
    for (const item of items) {
      const what = { task: item.task, length, place: 'inside', setting: label, index: item.index }
      const found = await journal.once(Object.values(what).join('/'), async () => {
        context ??= await open(api, model, setting, length, options.threads)
        return askInside(context, item, heads.get(item))
      })
      if (!setting) heads.set(item, found.heads)
      rows.push(rowOf(what, found))
      say(
        `${item.task} ${length} inside ${setting?.label ?? 'dense'}: ${rows.at(-1).right} of ${rows.at(-1).n}`,
      )
    }
    await context?.dispose()
  }
  if (options.alone > 0) {
    rows.push(
      ...(await askAllAlone(api, model, { items, heads, rows }, length, settings, options, journal, say)),
    )
  }
  return rows
}

/** What is dense beside the base. */
const others = (options) => (options.otherDense ? [otherDense] : [])

const keyOfAny = (setting) => (!setting ? 'dense' : setting === otherDense ? setting.label : keyOf(setting))

/**
 * The last questions of these prompts, each alone. Dense attention says of them what it says inside: it sees nothing
 * of what follows.
 */
async function askAllAlone(api, model, inside, length, settings, options, journal, say) {
  const rows = []
  for (const place of ['end', 'turn']) {
    for (const row of inside.rows.filter(({ setting }) => ['dense', otherDense.label].includes(setting))) {
      const { answers, logs, kl } = row
      const last = (some) => some?.slice(-options.alone)
      const found = { answers: last(answers), logs: last(logs), kl: last(kl) }
      rows.push(rowOf({ ...row, place: `${place}-alone` }, found))
    }
    for (const setting of settings.filter(({ alone }) => alone)) {
      let context
      for (const item of inside.items) {
        const what = {
          task: item.task,
          length,
          place: `${place}-alone`,
          setting: keyOf(setting),
          index: item.index,
        }
        const found = await journal.once(`${Object.values(what).join('/')}/${options.alone}`, async () => {
          context ??= await open(api, model, setting, length, options.threads)
          return askAlone(context, item, options.alone, place, inside.heads.get(item))
        })
        rows.push(rowOf(what, found))
        say(`${item.task} ${length} ${place} ${setting.label}: ${rows.at(-1).right} of ${rows.at(-1).n}`)
      }
      await context?.dispose()
    }
  }
  return rows
}

function rowOf(what, { answers, heads, ...found }) {
  return { ...what, ...found, answers, right: answers.filter(Boolean).length, n: answers.length }
}

export function sum(rows, name) {
  return rows.reduce((total, row) => total + row[name], 0)
}
