// Clang is the compiler of macOS, and no build of these tests is its: here it compiles our own files, for this processor, and is to
// have nothing to say. Warnings are errors in a checkout.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'
import { emptyFolder, remove, run } from './support.js'

interface Command {
  directory: string
  file: string
  command: string
}

const hasClang = spawnSync('clang++', ['--version']).status === 0

describe.skipIf(!hasClang)('Clang', () => {
  let folder: string
  let commands: Command[]
  beforeAll(async () => {
    folder = emptyFolder('clang')
    const defines = [
      'C_COMPILER=clang',
      'CXX_COMPILER=clang++',
      'EXPORT_COMPILE_COMMANDS=ON',
      'BUILD_TYPE=Release',
    ]
    await run('cmake', ['-S', root, '-B', folder, ...defines.map((define) => `-DCMAKE_${define}`)], root)
    const all: Command[] = JSON.parse(readFileSync(join(folder, 'compile_commands.json'), 'utf8'))
    commands = all.filter(({ file }) => /(src|bench)\/native\/|vendor\/llama\.cpp\/(h2o|limits)\//.test(file))
  })
  afterAll(() => remove(folder))

  test('takes our files', async () => {
    expect(commands.length).toBeGreaterThan(100)
    const said: string[] = []
    const read = async () => {
      for (let next = commands.pop(); next; next = commands.pop()) {
        await run('sh', ['-c', `exec ${next.command} -O0 -o /dev/null`], next.directory).catch((error) =>
          said.push(String(error)),
        )
      }
    }
    await Promise.all([read(), read()])
    expect(said).toEqual([])
  }, 900_000)
})
