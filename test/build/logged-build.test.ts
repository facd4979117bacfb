import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { keepingCache } from '../../scripts/lib/cmake-cache.mjs'
import { LoggedBuild } from '../../scripts/lib/logged-build.mjs'

const folder = mkdtempSync(join(tmpdir(), 'h2o-build-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function started(name: string) {
  const shown: string[] = []
  const file = join(folder, name, 'build.log')
  const build = new LoggedBuild('addon', file, { write: (text: string) => shown.push(text) })
  const node = (code: string) => build.run(process.execPath, ['-e', code], { todo: 'go back' })
  return { build, node, shown, log: () => readFileSync(file, 'utf8') }
}

const lines = (n: number) => `for (let i = 0; i < ${n}; i++) console.log('line ' + i);`

test('the log has every command with all that it printed, the terminal one line', async () => {
  const { build, node, shown, log } = started('whole')
  await node(lines(500))
  await node(`console.error('[3/3] on stderr')`)
  build.done()
  expect(log().match(/^\$ /gm)).toHaveLength(2)
  expect(log().match(/^line \d+$/gm)).toHaveLength(500)
  expect(log()).toContain('[3/3] on stderr')
  expect(shown).toHaveLength(1)
})

test('a failure has the command, the log from the first error on, and what to do', async () => {
  const { node, log } = started('error')
  const failing = `${lines(100)} console.log('FAILED: a.o\\nwhy\\n'); process.exit(3)`
  const { message } = await node(failing).catch((error) => error)
  expect(message).toContain(process.execPath)
  expect(message).toContain('ended with status 3')
  expect(message).toContain('FAILED: a.o\nwhy')
  expect(message).not.toContain('\nline 99')
  expect(message.endsWith('go back')).toBe(true)
  expect(log()).toContain('\nline 99\n')
})

test('without an error in it, the end of the log is shown', async () => {
  const { node } = started('end')
  const { message } = await node(`${lines(100)} process.exit(1)`).catch((error) => error)
  expect(message).toContain('\nline 99\n')
  expect(message).not.toContain('\nline 9\n')
})

test('a command that is not there', async () => {
  const { build } = started('none')
  await expect(build.run('h2o-no-such-command', [])).rejects.toThrow('could not be started')
})

test('a configuration that fails leaves the cache as it was', async () => {
  const cache = join(folder, 'CMakeCache.txt')
  const failing = () => {
    writeFileSync(cache, 'GGML_CUDA:BOOL=ON\n')
    throw new Error('no cuBLAS')
  }
  await expect(keepingCache(folder, failing)).rejects.toThrow('no cuBLAS')
  expect(() => readFileSync(cache)).toThrow('ENOENT')

  writeFileSync(cache, 'GGML_CUDA:BOOL=OFF\n')
  await expect(keepingCache(folder, failing)).rejects.toThrow('no cuBLAS')
  expect(readFileSync(cache, 'utf8')).toBe('GGML_CUDA:BOOL=OFF\n')
})
