// The package as a project that depends on it has it: packed, installed, its addon built by `h2o-prefill build`.

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fakeToolkit, PARTS } from '../build/fake-toolkit.js'
import { root, spawnCli } from '../cli/support/spawn.js'
import { emptyFolder, install, pack, remove, run } from './support.js'

const TIMEOUT = 900_000 // the build takes a minute with ccache, 6 without

let project: string
let home: string

beforeAll(async () => {
  project = emptyFolder('installed')
  home = await install(await pack(root, project), project)
  rmSync(join(home, 'prebuilds'), { recursive: true, force: true })

  // what the checkout has fetched of llama.cpp already
  cpSync(join(root, 'vendor/.cache'), join(home, 'vendor/.cache'), { recursive: true })
}, TIMEOUT)

afterAll(() => remove(project))

const doctor = () => spawnCli(['doctor', '--json'], '', { home })

test('before the build, the error says how to build', async () => {
  const { code, err } = await doctor()
  expect(code).toBe(4)
  expect(err).toContain('hint: build it: npx h2o-prefill build')
})

test('build: a tool that is missing is named', async () => {
  const { code, out, err } = await spawnCli(['build'], '', { home, env: { PATH: '' } })
  expect(code).toBe(1)
  expect(out).toBe('')
  expect(err).toMatch(/needs CMake, git, .*apt-get install cmake git/s)
})

test.each([
  [['--nope'], "'--nope'"],
  [['--cuda-arch', '90'], '--cuda-arch goes with --cuda'],
  [['--cuda', '--cuda-arch', 'new'], 'not a list of architectures'],
  [['--ts'], 'leave out --ts'],
])('build %j is a usage error', async (argv, message) => {
  const { code, out, err } = await spawnCli(['build', ...argv], '', { home })
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(message)
})

test('the models that can be fetched are listed', async () => {
  const { code, out, err } = await spawnCli(['model'], '', { home })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('smollm2-135m')
})

test('build --help goes to stdout', async () => {
  expect(await spawnCli(['build', '--help'], '', { home })).toMatchObject({
    code: 0,
    out: expect.stringContaining('h2o-prefill build'),
    err: '',
  })
})

test(
  'it builds its addon, and both kinds of import and the command line work',
  async () => {
    const built = await spawnCli(['build'], '', { home })
    expect(built.code, built.err).toBe(0)
    expect(built.out).toBe('')
    // those of progress, vendor's and the last one; the compilers' are in the log
    expect(built.err).not.toContain('Building')
    expect(built.err).toMatch(/^native addon: done, /m)
    expect(existsSync(join(home, 'build/build.log'))).toBe(true)

    const { code, out, err } = await doctor()
    expect(code, err).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      binary: expect.stringContaining(join(home, 'build')),
      trial: { path: 'h2o', chunks: 3, finite: true },
    })

    const use = 'm.loadModel(process.argv[1]).then((model) => console.log(model.architecture))'
    const model = join(home, 'model/recall-q8_0.gguf')
    const esm = await run(
      process.execPath,
      ['--input-type=module', '-e', `import * as m from 'h2o-llama'; ${use}`, model],
      project,
    )
    const cjs = await run(process.execPath, ['-e', `const m = require('h2o-llama'); ${use}`, model], project)
    expect([esm, cjs]).toEqual(['qwen3\n', 'qwen3\n'])
  },
  TIMEOUT,
)

test.skipIf(process.platform === 'win32')(
  'a build with CUDA that fails does not keep the next one from working',
  async () => {
    const cuda = (...parts: typeof PARTS) => {
      const folder = mkdtempSync(join(project, 'cuda-'))
      const defines = fakeToolkit(folder, parts).flatMap((define) => ['-D', define])
      // nvcc is named: another one may be on the PATH
      const nvcc = ['-D', `CMAKE_CUDA_COMPILER=${join(folder, 'bin/nvcc')}`]
      return spawnCli(['build', '--cuda', '--cuda-arch', '90', ...defines, ...nvcc], '', { home })
    }
    const incomplete = await cuda('runtime', 'cccl', 'driver')
    expect(incomplete.code).toBe(1)
    expect(incomplete.err).toContain('libcublas-dev')

    const failed = await cuda(...PARTS) // its nvcc does not compile
    expect(failed.code).toBe(1)
    expect(failed.err).toContain('build/build.log')
    expect(failed.err).toContain('--cpu')

    const plain = await spawnCli(['build'], '', { home })
    expect(plain.code, plain.err).toBe(0)
    expect((await doctor()).code).toBe(0)
  },
  TIMEOUT,
)
