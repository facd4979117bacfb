// Settings as calls of `h2o-prefill compare`, which takes lists and compares every combination: as few calls as cover
// them, because each call reads the text densely as well.

/**
 * @param {import('./settings.mjs').Setting[]} settings no two alike
 * @returns {{ S: number, tails: number[], schedules: string[], selects: string[], locals: number[], heavies: number[], settings: object[] }[]}
 */
export function invocations(settings) {
  const calls = settings.map((setting) => ({
    S: setting.S,
    tails: [setting.denseTail ?? 0],
    schedules: [setting.schedule],
    selects: [setting.select],
    locals: [setting.local],
    heavies: setting.heavy === undefined ? [] : [setting.heavy], // none: the default of the model
    settings: [setting],
  }))
  // what differs in one list only becomes one call: first in H, then in L, then in the schedule, then in the
  // selection: a two-pass of `query` is no setting
  return ['heavies', 'locals', 'schedules', 'selects'].reduce(merge, calls)
}

function merge(calls, list) {
  const merged = new Map()
  for (const call of calls) {
    const { settings, [list]: values, ...rest } = call
    const key = JSON.stringify({ ...rest, isDefault: values.length === 0 })
    const known = merged.get(key)
    if (known) {
      known[list].push(...values)
      known.settings.push(...settings)
    } else merged.set(key, { ...call, [list]: [...values], settings: [...settings] })
  }
  // in order, so that equal lists are alike whatever order they were declared in
  for (const call of merged.values()) call[list] = [...new Set(call[list])].sort(ascending)
  return [...merged.values()]
}

export function argvOf({ S, tails, schedules, selects, locals, heavies }) {
  const lists = {
    '-ub': [S],
    '--h2o-schedule': schedules,
    '--h2o-select': selects,
    '--h2o-local': locals,
    '--h2o-heavy': heavies,
    '--h2o-dense-tail': tails,
  }
  const given = Object.entries(lists).filter(([, values]) => values.length > 0)
  return given.flatMap(([flag, values]) => [flag, values.join(',')])
}

function ascending(a, b) {
  return typeof a === 'number' ? a - b : a.localeCompare(b)
}
