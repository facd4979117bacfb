// The mutator of command lines: each is a process of its own, with the default number of threads unless a flag says more.

import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Draw } from '../draw.mjs'
import { rssOf } from '../memory.mjs'
import { tinyModelFile } from '../tiny.mjs'
import { promise } from '../use-model.mjs'

const PROGRAM = fileURLToPath(new URL('../../../bin/h2o-prefill.js', import.meta.url))
/** Those that --help documents; each but 0 comes with a line that says why. */
const EXIT_CODES = [0, 1, 2, 3, 4, 5]
const MEMORY_LIMIT = 4 * 2 ** 30

/** Mostly a value that is taken, now and then one that is not. */
const often = (usual, odd) => (draw) => draw.pick(draw.chance(0.85) ? usual : odd)
const count = often(
  ['0', '1', '7', '16', '64', '100', '512'],
  ['-1', '4294967295', '1e3', 'x', '', '3.5', '99999999'],
)
const real = often(['0', '0.5', '0.9', '1'], ['-1', '2', 'NaN', '1e30', 'x', ''])
const type = often(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'], ['q2_k', ''])
const none = () => undefined

/** Flag, and what it may be given; the counts that fit are drawn more often. */
const FLAGS = {
  '-c': (draw) => draw.pick(['256', '400', '1024', count(draw)]),
  '-b': (draw) => draw.pick(['64', '128', '512', count(draw)]),
  '-ub': (draw) => draw.pick(['16', '32', '64', count(draw)]),
  '-ngl': (draw) => draw.pick(['0', 'auto', 'all', count(draw)]),
  '-fa': often(['on', 'off', 'auto'], ['maybe']),
  '-ctk': type,
  '-ctv': type,
  '-n': often(['0', '1', '8', '16'], ['x', '1.5']), // -1 and -2 fill the context: long, and no hang
  '-s': count,
  '--temp': real,
  '--top-k': count,
  '--top-p': real,
  '--min-p': real,
  '--h2o-local': (draw) => draw.pick(['8', '16', count(draw)]),
  '--h2o-heavy': (draw) => draw.pick(['8', '16', count(draw)]),
  '--h2o-schedule': often(['single-pass', 'two-pass'], ['three-pass']),
  '--h2o-sink': count,
  '--h2o-vote-window': count,
  '--h2o-decay': real,
  '--h2o-dense-tail': count,
  ...Object.fromEntries(
    [
      '--mlock',
      '--no-mmap',
      '--ignore-eos',
      '--no-h2o',
      '--h2o-vote-fused',
      '--h2o-vote-causal',
      '--h2o-vote-mean',
      '--json',
    ]
      .concat('-v', '--no-escape')
      .map((flag) => [flag, none]),
  ),
}

/** What only `run` knows. */
const OF_RUN = ['-n', '-s', '--temp', '--top-k', '--top-p', '--min-p', '--ignore-eos', '--no-escape', '-v']

const prompt = often(
  ['Hello, world. '.repeat(60), '\u{1f600}\n\\x41\\n'.repeat(60), 'x'.repeat(700)],
  ['a', ''],
)

let model

export function recipe(seed) {
  const draw = new Draw('flags', seed)
  const command = draw.pick(['run', 'run', 'run', 'run', 'compare', 'inspect'])
  const args = [command, '-p', prompt(draw), '-b', '192', '-ub', '64']
  if (command === 'run') args.push('-n', draw.pick(['0', '4', '16']))
  if (command === 'compare') args.push('-n', '64')
  const flags = Object.keys(FLAGS).filter((flag) => command === 'run' || !OF_RUN.includes(flag))
  for (let n = draw.int(0, 6); n > 0; n--) {
    const flag = draw.pick(flags)
    const value = FLAGS[flag](draw)
    args.push(flag, ...(value === undefined ? [] : [value]))
  }
  return { kind: 'flags', args }
}

export async function run({ args }) {
  model ??= await tinyModelFile()
  const child = spawn(process.execPath, [PROGRAM, ...args, '-m', model], {
    cwd: tmpdir(), // inspect writes a file
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
  promise(!/^\s+at .*\(?node:/m.test(stderr), `a stack: ${stderr}`)
  return `exit ${code}`
}
