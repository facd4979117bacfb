// Numbers for a person.

export function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`
}

/** Whole seconds, or minutes and seconds. */
export function rough(seconds: number): string {
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')} min`
}

export function rate(perSecond: number): string {
  return `${perSecond < 100 ? perSecond.toFixed(1) : Math.round(perSecond)} tok/s`
}

export function count(n: number, one: string): string {
  return `${n} ${one}${n === 1 ? '' : 's'}`
}

export function gibibytes(bytes: number, digits = 1): string {
  return `${(bytes / 2 ** 30).toFixed(digits)} GiB`
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 3 : 1)} MiB`
}
