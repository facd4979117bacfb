// `h2o-prefill model` as a user has it, with a stand-in for pip.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { catalogue } from '../../../scripts/lib/models.mjs'
import { root, spawnCli, start } from '../support/spawn.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'h2o-model-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('without a name it lists the models, with licence and size', async () => {
  const { code, out, err } = await spawnCli(['model', '--to', folder])
  expect([code, err]).toEqual([0, ''])
  expect(out.trimEnd().split('\n')).toHaveLength(1 + catalogue.length)
  expect(out).toMatch(/^smollm2-135m +llama, 8192 tokens +Apache-2.0 .* 98 MB$/m)
})

test('of another model it prints the line that fetches it, alone', async () => {
  const { code, out, err } = await spawnCli(['model', 'a/b:Q8_0', '--to', folder])
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^pip install .* a\/b .*Q8_0.*\n$/)
})

test.each([
  [['gpt'], 'OWNER/REPO:QUANT'],
  [['smollm2-135m', 'gemma3-270m'], 'one name at a time'],
  [['--nope'], "'--nope'"],
])('%j is a usage error', async (argv, message) => {
  const { code, out, err } = await spawnCli(['model', ...argv])
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(message)
})

test.each(
  process.platform === 'linux' ? ['file', '/proc/none/models'] : ['file'],
)('a folder that cannot be one is told without a stack: %s', async (name) => {
  writeFileSync(join(folder, 'file'), '')
  const { code, err } = await spawnCli(['model', 'smollm2-135m', '--to', resolve(folder, name)])
  expect(code).toBe(1)
  expect(err).toMatch(/error: the folder \S+ cannot be used: (ENOTDIR|ENOENT).*\n$/)
})

const written = ['model', 'model --help', 'model a/b:Q8_0', 'build --help', '--help']

test.skipIf(process.platform !== 'linux').each(written)('a full disk is an error: %s', (line) => {
  const full = openSync('/dev/full', 'w')
  const argv = [join(root, 'bin/h2o-prefill.js'), ...line.split(' ')]
  const { status, stderr } = spawnSync(process.execPath, argv, { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  expect([status, stderr.toString()]).toEqual([1, expect.stringMatching(/^.*error: .*ENOSPC.*\n$/)])
})

describe.skipIf(process.platform === 'win32')('with a pip that', () => {
  const FOREVER = 'setInterval(() => {}, 1000)'

  /** A python3 that is all there is on PATH. */
  function python(name: string, code: string) {
    const bin = join(folder, name, 'bin')
    mkdirSync(bin, { recursive: true })
    const asked = "process.argv.includes('--version')"
    writeFileSync(join(bin, 'python3'), `#!${process.execPath}\nif (${asked}) process.exit()\n${code}\n`)
    chmodSync(join(bin, 'python3'), 0o755)
    const to = join(folder, name, 'models')
    const argv = ['model', 'smollm2-135m', '--to', to]
    return { argv, to, options: { env: { PATH: bin } } }
  }

  test('fails: the licence was said, and what to do is', async () => {
    const { argv, to, options } = python('failing', 'process.exit(1)')
    const { code, out, err } = await spawnCli(argv, '', options)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('98 MB')
    expect(err).toContain('licence: Apache-2.0')
    expect(err).toContain('--from wheels')
    expect(readdirSync(to)).toEqual([])
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('takes long: %s ends it, and nothing stays', async (signal) => {
    const began = join(folder, `began-${signal}`)
    const write = `require('node:fs').writeFileSync(${JSON.stringify(began)}, ''); ${FOREVER}`
    const { argv, to, options } = python(signal, write)
    const { child, ended } = start(argv, options)
    await vi.waitFor(() => expect(existsSync(began)).toBe(true), { timeout: 20_000 })
    child.kill(signal)
    const { code, err } = await ended
    expect(code, err).toBe(130)
    expect(err).toContain('nothing was kept')
    expect(readdirSync(to)).toEqual([])
  })
})
