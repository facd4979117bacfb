#!/usr/bin/env node
// npm test: the tests that nearly every change needs; npm run test:part and test:all: others (lib/parts.mjs). Builds what
// is missing or stale, runs the C++ tests, those of the ops under sanitizers too, then Vitest, which prints a dot for a test
// and failures whole. Then what took how long, what was left out, and the sum of all. Exit code 1: a test failed.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Clock, slowest, timeTable } from './lib/clock.mjs'
import { Failure, main, UsageFailure } from './lib/fail.mjs'
import { PROJECT_ROOT } from './lib/layout.mjs'
import { missing } from './lib/optional-programs.mjs'
import { CORE, isBelow, OTHERS, PARTS, partOf } from './lib/parts.mjs'
import { homeOfPackage, run, runPackage } from './lib/run.mjs'
import { taggedFiles } from './lib/tagged-files.mjs'

const HELP = `usage: npm test                       ${CORE.holds}
       npm test -- PATH ...           test files and folders, by name; other arguments go to Vitest
       npm run test:part -- NAME ...  parts of all tests:
${OTHERS.map(({ name, holds }) => `         ${name.padEnd(8)} ${holds}`).join('\n')}
       npm run test:all               every part; with \`-- --save-seconds\` test/seconds.json is what they took, by which the
                                      longest files start first
`

const OPTIONS = {
  part: { type: 'boolean' },
  all: { type: 'boolean' },
  'save-seconds': { type: 'boolean' },
}

class Tests {
  clock = new Clock()
  counts = { passed: 0, failed: 0, skipped: 0 }
  native = []
  files = []
  cases = []

  /** @param {string[]} lines scripts with their arguments; each runs once */
  async build(lines) {
    for (const line of new Set(lines)) {
      const [script, ...args] = line.split(' ')
      await this.clock.time(line, () =>
        run(process.execPath, [join(PROJECT_ROOT, 'scripts', script), ...args]),
      )
    }
  }

  async part(part) {
    const { name, ctest, sanitized, tests } = part
    if (ctest) await this.clock.time(`C++ tests, ${name}`, () => this.#ctest(ctest))
    if (sanitized) await this.clock.time('sanitizers', () => this.#sanitize())
    if (part === CORE) {
      const others = OTHERS.map((other) => other.name).join(' || ')
      return this.vitest(name, ['--project', 'unit', '--project', 'core', '--tags-filter', `!(${others})`])
    }
    if (tests.length > 0) await this.vitest(name, ['--project', name])
    const files = taggedFiles(name)
    if (files.length > 0) await this.vitest(`${name}, cases in core`, ['--tags-filter', name, ...files])
  }

  async vitest(name, args) {
    const results = join(PROJECT_ROOT, 'build/test-results.json')
    mkdirSync(join(PROJECT_ROOT, 'build'), { recursive: true })
    rmSync(results, { force: true })
    const reporters = ['--reporter=dot', `--reporter=${join(PROJECT_ROOT, 'scripts/lib/test-reporter.mjs')}`]
    const program = join(homeOfPackage('vitest'), 'vitest.mjs')
    const status = await this.clock.time(`Vitest, ${name}`, () =>
      ofProgram(
        process.execPath,
        [program, 'run', '--silent=passed-only', ...reporters, `--outputFile=${results}`, ...args],
        {
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      ),
    )
    if (!existsSync(results)) throw new Failure(`Vitest ended with status ${status.status} and no result.`)
    const { counts, files, cases } = JSON.parse(readFileSync(results, 'utf8'))
    if (status.status !== 0 && counts.failed === 0) counts.failed = 1
    if (Object.values(counts).every((n) => n === 0)) throw new Failure(`Vitest ran no test of ${name}.`)
    this.#add(counts)
    this.files.push(...files)
    this.cases.push(...cases)
  }

  /** Output of a C++ test is shown if it fails. */
  #ctest(label) {
    const { status, stdout } = ofProgram(
      'ctest',
      ['-C', 'Release', '--verbose', '-L', `^${label}$`, '--parallel', String(availableParallelism())],
      { cwd: join(PROJECT_ROOT, 'build'), stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const ran = [...stdout.matchAll(/^ *\d+\/\d+ Test +#\d+: (\S+) [.*]+ *(\S.*?) +([\d.]+) sec/gm)]
    const failed = ran.filter(([, , how]) => how !== 'Passed').map(([, name]) => name)
    if (ran.length === 0 || (status !== 0 && failed.length === 0))
      throw new Failure(`ctest failed:\n${stdout}`)
    const cases = [...stdout.matchAll(/^\d+: (\S+: .*?) +([\d.]+) s$/gm)]
    this.cases.push(...cases.map(([, what, seconds]) => ({ what: `C++ ${what}`, seconds: Number(seconds) })))
    this.native.push(...ran.map(([, name, , seconds]) => ({ what: name, seconds: Number(seconds) })))
    this.#add({
      passed: Math.max(cases.length, ran.length - failed.length),
      failed: failed.length,
      skipped: 0,
    })
    if (failed.length > 0) console.error(`${stdout}\nC++ tests that failed: ${failed.join(', ')}`)
    else console.log(`C++ tests: ${ran.length} programs, ${cases.length} cases passed`)
  }

  #sanitize() {
    const { status, stdout } = ofProgram(process.execPath, [join(PROJECT_ROOT, 'scripts/sanitize.mjs')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    process.stdout.write(stdout)
    const ran = [...stdout.matchAll(/^op test (.*): clean, ([\d.]+) s$/gm)]
    this.native.push(...ran.map(([, what, seconds]) => ({ what, seconds: Number(seconds) })))
    this.#add({ passed: ran.length, failed: status === 0 ? 0 : 1, skipped: 0 })
  }

  #add(counts) {
    for (const [key, n] of Object.entries(counts)) this.counts[key] += n
  }

  /** The last line is the sum. */
  report(parts) {
    const { passed, failed, skipped } = this.counts
    console.log(timeTable('the slowest cases', slowest(this.cases)))
    console.log(timeTable('the slowest files', slowest(this.files)))
    if (this.native.length > 0) console.log(timeTable('C++ programs', this.native))
    console.log(timeTable('stages', this.clock.stages))
    for (const line of missing([...new Set(parts.flatMap(({ wants }) => wants))])) console.log(line)
    console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`)
    process.exitCode = failed > 0 ? 1 : 0
  }
}

/** What test files took: those that ran anew, the others as before. Short ones need no order. */
function saveSeconds(files) {
  const path = join(PROJECT_ROOT, 'test/seconds.json')
  const known = new Map(Object.entries(JSON.parse(readFileSync(path, 'utf8'))))
  // a file with cases of several parts ran several times
  const longest = [...files].sort((a, b) => a.seconds - b.seconds)
  for (const { what, seconds } of longest) known.set(what, Math.round(seconds))
  const long = [...known].filter(([, seconds]) => seconds >= 2).sort(([, a], [, b]) => b - a)
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`)
}

function ofProgram(command, args, options) {
  const child = spawnSync(command, args, {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    ...options,
  })
  if (child.error) throw new Failure(`${command} could not be run: ${child.error.message}`)
  return child
}

function partsNamed(names) {
  const unknown = names.filter((name) => !PARTS.some((part) => part.name === name))
  if (unknown.length === 0 && names.length > 0) return PARTS.filter(({ name }) => names.includes(name))
  const what = names.length > 0 ? `there is no part ${unknown.join(', ')}` : 'name a part'
  throw new UsageFailure(`${what}: ${PARTS.map(({ name }) => name).join(', ')}.`)
}

/** What is built for test files and folders as Vitest takes them: a piece of a path is enough. */
function buildsOfPaths(paths) {
  const { stdout } = ofProgram('git', ['ls-files', '-co', '--exclude-standard', 'test/*.test.ts'], {})
  const asked = stdout.split('\n').filter((file) => paths.some((path) => file.includes(path)))
  const parts = OTHERS.filter((part) => {
    const tagged = taggedFiles(part.name)
    return asked.some((file) => partOf(file) === part || tagged.includes(file))
  })
  const builds = parts
    .flatMap(({ builds }) => builds)
    .filter(({ onlyFor }) => !onlyFor || asked.some((file) => isBelow(file, onlyFor)))
  return ['build.mjs', ...builds.map(({ run }) => run)]
}

async function runParts(parts, isSaved = false) {
  const tests = new Tests()
  await tests.build(parts.flatMap(({ builds }) => builds.map(({ run }) => run)))
  for (const part of parts) await tests.part(part)
  tests.report(parts)
  if (isSaved && tests.counts.failed === 0) saveSeconds(tests.files)
}

/** As Vitest prints them: a person looks at a few. */
async function runPaths(args) {
  await new Tests().build(buildsOfPaths(args.filter((arg) => !arg.startsWith('-'))))
  runPackage('vitest', 'vitest.mjs', ['run', ...args])
}

await main(async () => {
  const args = process.argv.slice(2)
  if (args[0] === '--help' || args[0] === '-h') return console.log(HELP.trimEnd())
  const isOfParts = args[0] === '--part' || args[0] === '--all'
  const { values, positionals } = isOfParts
    ? parseArgs({ args, allowPositionals: true, options: OPTIONS })
    : { values: {}, positionals: args }
  if (values.all) return runParts(PARTS, values['save-seconds'])
  if (values.part) return runParts(partsNamed(positionals), values['save-seconds'])
  return positionals.length > 0 ? runPaths(positionals) : runParts([CORE])
})
