// What the documents name exists: files, functions, types. And what they promise to list is listed.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !path.startsWith('bench/results/'))

const code = files
  .filter((path) => /\.(c?ts|m?js|cpp|h|cuh?|py|cmake|patch|sh|yml)$|CMakeLists|^package\.json/.test(path))
  .map(read)
  .join('\n')
const words = new Set(code.match(/\w+/g)).add('lockDuration') // BullMQ's
const patched = [...code.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, path]) => basename(path as string))
const names = new Set([...files.map((path) => basename(path)), ...patched, 'llama.cpp'])
const stems = new Set([...names].map((name) => name.replace(/\.\w+$/, '')))

// these tell of other documents, or of the past
const documents = files.filter((path) => /\.md$/.test(path) && !/^(CHANGELOG|test\/requirements)/.test(path))
/** Without blocks of code, and without what the first documents said (docs/decisions.md, second column). */
const spans = (path: string) =>
  read(path)
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/^\| D\d+ \|[^|]*/gm, '')
    .match(/`[^`\n]+`/g) ?? []

test.each(documents)('%s: files and functions exist', (path) => {
  const all = spans(path).filter((span) => !/NAME|DATE/.test(span))
  const every = (pattern: RegExp) => all.flatMap((span) => span.match(pattern) ?? [])

  const named = every(/[\w./-]+\.(c?ts|mjs|cpp|h|cuh?|py|cmake|patch|md|sh)\b/g).map((name) => basename(name))
  expect(named.filter((name) => !names.has(name))).toEqual([])
  // upstream's own names are not looked for
  const ours = [
    ...every(/\b\w*(h2o|limit)_\w*[^\W_]\b/gi),
    ...every(/\b\w+_h2o\b/g),
    ...every(/\b[a-z]+[A-Z]\w+/g),
  ]
  expect(ours.filter((name) => !words.has(name))).toEqual([])
  const pairs = every(/(?<=[`/])(ggml-)?h2o(-\w+)*(?=`)/g)
  expect(pairs.filter((name) => !stems.has(name) && !code.includes(name))).toEqual([])
})

test('src/native/h2o/README.md and the five files that it names have 850 lines at most', () => {
  const folder = 'src/native/h2o'
  const [path = ''] = /^Read this page and five files[\s\S]*?\. /m.exec(read(`${folder}/README.md`)) ?? []
  const five = [...path.matchAll(/`(.*?)`/g)].map(([, name]) => `${folder}/${name}`)
  expect(five.length).toBe(5)
  const lines = [`${folder}/README.md`, ...five].map((file) => read(file).split('\n').length - 1)
  expect(lines.reduce((a, b) => a + b)).toBeLessThanOrEqual(850)
})

test('CommonJS has every type that ES modules have', () => {
  const lists = [...read('src/ts/index.ts').matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list]) => list)
  const types = lists
    .join()
    .match(/\b[A-Z]\w+/g)
    ?.sort() // a class is a type, too
  const own = [...read('src/ts/index.cts').matchAll(/export type (\w+) = library\.\1$/gm)].map(
    ([, name]) => name,
  )
  expect(own.sort()).toEqual(types)
})

test('docs/cli.md lists every variable of the environment that is read, and no other', () => {
  const sources = files
    .filter((path) => /^(src|bin|scripts|bench(?!\/gpu))\/.*\.(ts|m?js|cpp|h)$/.test(path))
    .map(read)
  const reads = /(?:\benv: '|getenv\("|h2o_is_set\("|process\.env\.|\benv\.)([A-Z][A-Z\d_]+)\b/g
  const others = ['PATH'] // the system's
  const wanted = sources.flatMap((text) => [...text.matchAll(reads)].map(([, name]) => name as string))
  const section = read('docs/cli.md').split('## Environment')[1] as string
  const listed = [...section.matchAll(/`(_)?([A-Z]\w+)[=`]/g)].map(([, short, name]) =>
    short ? `LLAMA_ARG_${name}` : name,
  )
  expect([...new Set(listed)].sort()).toEqual(
    [...new Set(wanted)].filter((name) => !others.includes(name)).sort(),
  )
})
