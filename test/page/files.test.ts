/** What is sent of the page, and how. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { root } from '../cli/support/spawn.js'
import { startServer } from '../server/support.js'
import { recallModel, serve } from './support.js'

const pageFolder = join(root, 'dist/page')
const files = { '/': 'index.html', '/main.js': 'main.js', '/page.css': 'page.css' }

it('goes to everybody, and may ask this server alone', async () => {
  await using s = await startServer({ apiKeys: ['k'], pageFolder })
  for (const [path, name] of Object.entries(files)) {
    const response = await fetch(s.url + path)
    expect([response.status, await response.text()]).toEqual([
      200,
      readFileSync(join(pageFolder, name), 'utf8'),
    ])
    const policy = response.headers.get('content-security-policy')?.split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy?.filter((rule) => /unsafe|https?:|\*/.test(rule))).toEqual([])
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  }
  expect((await fetch(`${s.url}/`)).headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect((await fetch(`${s.url}/props`)).status).toBe(401)
})

it('is small', () => {
  const sizes = Object.values(files).map((name) => gzipSync(readFileSync(join(pageFolder, name))).length)
  expect(sizes.reduce((a, b) => a + b)).toBeLessThan(20 * 1024) // docs/serving.md says how small
})

it.each([
  ['there by default', [], 200],
  ['not with --no-ui', ['--no-ui'], 404],
  ["not with llama-server's older name", ['--no-webui'], 404],
])('is %s', async (_, flags, status) => {
  await using server = await serve(['-m', recallModel, ...flags])
  expect((await fetch(server.url)).status).toBe(status)
  expect((await fetch(`${server.url}/main.js`)).status).toBe(status)
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
})
