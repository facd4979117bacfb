// The oldest system that a Linux binary runs on, from the versions of the symbols that it takes from the C and C++
// runtimes.

import { spawnSync } from 'node:child_process'
import { Failure } from './fail.mjs'
import { NEWEST } from './platforms.mjs'

/** Throws where a file asks for more than NEWEST; returns what the files ask for. */
export function checkSymbolVersions(files) {
  const text = files.map(dynamicSymbols).join('\n')
  if (/\blibgomp\b/.test(text)) throw new Failure('a prebuild needs libgomp, which slim images lack.')
  const asked = Object.keys(NEWEST).map((runtime) => {
    const newest = [...text.matchAll(new RegExp(`\\b${runtime}_(\\d+(?:\\.\\d+)+)`, 'g'))]
      .map(([, version]) => version)
      .sort(compareVersions)
      .at(-1)
    if (newest && compareVersions(newest, NEWEST[runtime]) > 0)
      throw new Failure(
        `a prebuild needs ${runtime} ${newest}; the newest that is allowed is ${NEWEST[runtime]}.`,
        'Compile it on an older system.',
      )
    return `${runtime} ${newest ?? 'none'}`
  })
  return asked.join(', ')
}

function dynamicSymbols(file) {
  const { status, stdout, error } = spawnSync('objdump', ['-p', '-T', file], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status !== 0) throw new Failure(`objdump cannot read ${file}: ${error?.message ?? `status ${status}`}`)
  return stdout
}

const compareVersions = (a, b) => a.localeCompare(b, 'en', { numeric: true })
