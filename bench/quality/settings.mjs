// The ways to prefill that are compared: a declared table. A row more here is a row more in every table of the report.

/** Chunk and budget of the main settings. */
export const S = 1024
const base = { schedule: 'single-pass', select: 'votes', S, local: 256, heavy: 256 }

/**
 * @typedef {{
 *   label: string, schedule: 'single-pass' | 'two-pass', select: 'votes' | 'query', S: number, local: number,
 *   heavy: number, denseTail?: number
 * }} Setting
 */

/** @param {Partial<Setting>} change @returns {Setting} */
function setting(change = {}) {
  const made = { ...base, ...change }
  return { ...made, label: made.label ?? labelOf(made) }
}

/** `query S=512 L=128 H=128 tail=64`; what is as in the main settings is left out of schedule, selection and S. */
export function labelOf({ schedule, select, S: chunk, local, heavy, denseTail = 0 }) {
  return [
    ...(schedule === 'single-pass' ? [] : [schedule]),
    ...(select === base.select ? [] : [select]),
    ...(chunk === S ? [] : [`S=${chunk}`]),
    `L=${local} H=${heavy ?? 'auto'}`,
    ...(denseTail === 0 ? [] : [`tail=${denseTail}`]),
  ].join(' ')
}

/** Measured on every task at every length. */
export const main = [
  setting({ label: 'single-pass' }),
  setting({ label: 'query', select: 'query' }),
  setting({ label: 'two-pass', schedule: 'two-pass' }),
  // without heavy hitters: once with the same L, once with as much memory
  setting({ heavy: 0 }),
  setting({ local: 512, heavy: 0 }),
]

/** With a dense end of the prompt, one row each. Measured as the ablations are. */
export const tails = [setting({ denseTail: 64 })]

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

/**
 * What the defaults are chosen among, by policy, S, L and H: prefills that take about as long, or about as much memory.
 */
export const front = [
  ['votes', 1024, 256, 256],
  ['votes', 2048, 512, 512],
  ['query', 512, 128, 384],
  ['query', 512, 128, 512],
  ['query', 512, 128, 640],
  ['query', 512, 128, 1024],
  ['query', 1024, 128, 384],
  ['query', 1024, 128, 640],
].map(([select, chunk, local, heavy]) => setting({ select, S: chunk, local, heavy }))

/** What a setting is known by, whatever it is called. @param {Setting} setting */
export function keyOf({ label, ...what }) {
  return labelOf(what)
}

/** The first of each key. */
export function distinct(settings) {
  const first = new Map()
  for (const one of settings) if (!first.has(keyOf(one))) first.set(keyOf(one), one)
  return [...first.values()]
}
