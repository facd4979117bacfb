// The mutator of command lines: each is a process of its own, with the default number of threads unless a flag says
// more.

import { execFileSync, spawn } from 'node:child_process'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fuzzAdapter } from '../adapter.mjs'
import { COMMON, MODEL, SAMPLING } from '../command-flags.mjs'
import { mutated } from '../gguf-file.mjs'
import { rssOf } from '../memory.mjs'
import { tinyModelFile } from '../tiny.mjs'
import { promise } from '../use-model.mjs'

const PROGRAM = fileURLToPath(new URL('../../../bin/h2o-prefill.js', import.meta.url))
/** Those that --help documents; each but 0 comes with a line that says why. */
const EXIT_CODES = [0, 1, 2, 3, 4, 5]
const MEMORY_LIMIT = 4 * 2 ** 30

const PROMPTS = ['Hello, world. '.repeat(60), '\u{1f600}\n\\x41\\n'.repeat(60), 'x'.repeat(700)]
const FLAGS = {
  run: { ...COMMON, ...MODEL, ...SAMPLING },
  compare: COMMON,
  inspect: { ...COMMON, ...MODEL },
}

/** Where the commands run, and what they name and write is: one per process. */
const FOLDER = join(tmpdir(), `h2o-fuzz-flags-${process.pid}`)
const file = (name) => join(FOLDER, name)

let model

export function recipe(draw) {
  const command = draw.pick(['run', 'run', 'run', 'run', 'compare', 'inspect'])
  const prompt = draw.pick(draw.chance(0.85) ? PROMPTS : ['a', ''])
  const args = [command, '-p', prompt, '-b', '192', '-ub', '64']
  if (command === 'run') args.push('-n', draw.pick(['0', '4', '16']))
  if (command === 'compare') args.push('-n', '64')
  const flags = FLAGS[command]
  for (let n = draw.int(0, 6); n > 0; n--) {
    const flag = draw.pick(Object.keys(flags))
    const value = flags[flag](draw)
    args.push(flag, ...(value === undefined ? [] : [value]))
  }
  return { kind: 'flags', args }
}

export async function run({ args }) {
  model ??= await prepare()
  await copyFile(file('kept.cache'), file('whole.cache')) // what ran before may have written both
  await rm(file('new.cache'), { force: true })
  const child = spawn(process.execPath, [PROGRAM, ...args, '-m', model], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  let largest = 0
  child.stderr.on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-4000)
  })
  const watch = setInterval(() => {
    largest = Math.max(largest, rssOf(child.pid))
    if (largest > MEMORY_LIMIT) child.kill('SIGKILL')
  }, 100)
  const stop = () => child.kill('SIGKILL')
  process.on('exit', stop)
  const [code, signal] = await new Promise((done) => child.on('close', (...end) => done(end)))
  process.off('exit', stop)
  clearInterval(watch)

  promise(largest <= MEMORY_LIMIT, `memory above ${MEMORY_LIMIT} bytes`)
  promise(EXIT_CODES.includes(code), `ended with ${signal ?? code}: ${stderr}`)
  promise(
    code === 0 || /^h2o-prefill: error: /m.test(stderr),
    `exit code ${code} without a reason: ${stderr}`,
  )
  // --verbose asks for it
  promise(args.includes('--verbose') || !/^\s+at .*\(?node:/m.test(stderr), `a stack: ${stderr}`)
  return `exit ${code}`
}

/** Writes the files that flags name. */
async function prepare() {
  await mkdir(FOLDER)
  const path = await tinyModelFile()
  const adapter = fuzzAdapter(128)
  await writeFile(file('whole.lora'), mutated(adapter, []))
  await writeFile(file('broken.lora'), mutated(adapter, [['tensor', 0, 0, 64]]))
  await writeFile(file('whole.gbnf'), 'root ::= [a-z ]+')
  const args = [
    '-p',
    PROMPTS[0],
    '-b',
    '192',
    '-ub',
    '64',
    '-n',
    '1',
    '--prompt-cache',
    'kept.cache',
    '-m',
    path,
  ]
  execFileSync(process.execPath, [PROGRAM, ...args], { cwd: FOLDER, stdio: 'ignore' })
  return path
}
