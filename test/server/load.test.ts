/** bench/serve/load.mjs in its short form. */

import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runNode, tinyModel } from '../ts/support.js'

const script = fileURLToPath(new URL('../../bench/serve/load.mjs', import.meta.url))

it('answers rightly under load, with clients that leave, and keeps its memory', async () => {
  const model = await tinyModel()
  const sizes = ['--longest', '2000', '-b', '512', '-u', '128', '--parallel', '2']
  const load = ['--seconds', '10', '--requests', '100']
  const { code, stdout, stderr } = await runNode([script, '-m', model, ...sizes, ...load], {})
  expect(code, stderr).toBe(0)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ wrong: 0, failed: 0, exit_code: 0 })
  expect(report.right).toBeGreaterThan(50)
  expect(report.left).toBeGreaterThan(0)
  expect(report.ttft_ms.h2o.n).toBeGreaterThan(0)
  expect(report.rss_mib.after - report.rss_mib.before).toBeLessThan(120)
})
