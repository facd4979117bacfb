// The ways to prefill that are compared: a declared table. A row more here is a row more in every table of the report.

/** Chunk and budget of the main settings. */
export const S = 1024
const base = { schedule: 'single-pass', S, local: 256, heavy: 256 }

/**
 * @typedef {{
 *   label: string, schedule: 'single-pass' | 'two-pass', S: number, local: number, heavy: number,
 *   experiments?: Record<string, number | boolean>
 * }} Setting
 */

/** @param {Partial<Setting>} change @returns {Setting} */
function setting(change = {}) {
  const made = { ...base, ...change }
  return { ...made, label: made.label ?? labelOf(made) }
}

/** `two-pass S=512 L=128 H=128 sink=4`; what is as in the main settings is left out of S and the schedule. */
export function labelOf({ schedule, S: chunk, local, heavy, experiments = {} }) {
  return [
    ...(schedule === 'single-pass' ? [] : [schedule]),
    ...(chunk === S ? [] : [`S=${chunk}`]),
    `L=${local} H=${heavy}`,
    ...Object.entries(experiments).map(([name, value]) => (value === true ? name : `${name}=${value}`)),
  ].join(' ')
}

/** Measured on every task at every length. */
export const main = [
  setting({ label: 'single-pass' }),
  setting({ label: 'two-pass', schedule: 'two-pass' }),
  // without heavy hitters: once with the same L, once with as much memory
  setting({ heavy: 0 }),
  setting({ local: 512, heavy: 0 }),
]

/** Variants of the method that a build may not know yet: those are listed as skipped. One row each. */
export const experiments = [
  { sink: 4 },
  { voteWindow: 64 },
  { voteFused: true },
  { voteCausal: true },
  { voteMean: true },
  { decay: 0.9 },
  { denseTail: 64 },
].map((some) => setting({ experiments: some }))

const schedules = ['single-pass', 'two-pass']

/** One line of a plot each: settings in the order of x. Measured on a part of the tasks, at the full length. */
export const ablations = [
  ...schedules.map((schedule) => ({
    over: 'heavy',
    name: schedule,
    points: [0, 64, 128, 256, 512].map((heavy) => ({ x: heavy, setting: setting({ schedule, heavy }) })),
  })),
  {
    over: 'local',
    name: 'H=256',
    points: [64, 128, 256, 512].map((local) => ({ x: local, setting: setting({ local }) })),
  },
  {
    over: 'local',
    name: 'H=0',
    points: [64, 128, 256, 512].map((local) => ({ x: local, setting: setting({ local, heavy: 0 }) })),
  },
  {
    over: 'S',
    name: 'L=H=S/4',
    points: [256, 512, 1024, 2048].map((chunk) => ({
      x: chunk,
      setting: setting({ S: chunk, local: chunk / 4, heavy: chunk / 4 }),
    })),
  },
  {
    over: 'S',
    name: 'L=H=64',
    points: [256, 512, 1024, 2048].map((chunk) => ({
      x: chunk,
      setting: setting({ S: chunk, local: 64, heavy: 64 }),
    })),
  },
]

/** What a setting is known by, whatever it is called. */
export function keyOf({ schedule, S: chunk, local, heavy, experiments: some = {} }) {
  return labelOf({ schedule, S: chunk, local, heavy, experiments: some })
}

/** The first of each key. */
export function distinct(settings) {
  const first = new Map()
  for (const one of settings) if (!first.has(keyOf(one))) first.set(keyOf(one), one)
  return [...first.values()]
}

/** `--h2o-vote-window 64`, `--h2o-vote-fused` */
export function experimentFlags({ experiments: some = {} }) {
  return Object.entries(some).flatMap(([name, value]) =>
    value === true ? [flagOf(name)] : [flagOf(name), String(value)],
  )
}

export function flagOf(experiment) {
  return `--h2o-${experiment.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
