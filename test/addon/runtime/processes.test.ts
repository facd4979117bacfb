/** What needs a process of its own. These use the built library: `npm run build:ts`. */

import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runFixture, runNode, someTokens, tinyContext, tinyModel } from '../../ts/support.js'

describe('CommonJS', () => {
  it('loads the library', async () => {
    const { code, stdout, stderr } = await runFixture('consumer.cjs', [await tinyModel()])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      tokens: 11,
      plan: [4096, 3072, 1524],
      isContext: true,
      isModel: true,
      isError: true,
      isNoError: false,
      code: 'ERR_H2O_MODEL_NOT_FOUND',
      text: 4,
    })
  })
})

describe('worker threads', () => {
  it('have contexts of their own, and may end in the middle of work', async () => {
    const model = await tinyModel({ layers: 4, hidden: 128, ffn: 512 })
    const { code, signal, stdout, stderr } = await runFixture('workers.mjs', [model])
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
    const logits: number[][] = JSON.parse(stdout)
    expect(logits).toHaveLength(4)
    for (const other of logits) expect(other).toEqual(logits[0])
    await using context = await tinyContext({ model })
    const here = await context.prefill(someTokens(400))
    expect([...(here.logits as Float32Array)]).toEqual(logits[0])
  })
})

describe('a process', () => {
  it.each(['exit', 'throw', 'idle', 'forget'])('ends when it should: %s', async (how) => {
    const model = await tinyModel({ layers: 4, hidden: 256, ffn: 1024 })
    const { code, signal } = await runFixture('ending.mjs', [model, how], ['--expose-gc'])
    expect({ code, signal }).toEqual({ code: how === 'throw' ? 1 : how === 'exit' ? 7 : 0, signal: null })
  })

  it('says what it tried where there is no binary', async () => {
    const { code, stdout } = await runFixture('no-binary.mjs', [await tinyModel()])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      code: 'ERR_H2O_NO_BINARY',
      tried: [expect.stringContaining('nowhere.node')],
      hint: expect.stringContaining('H2O_LLAMA_BINARY'),
    })
  })

  it('says what Node keeps out', async () => {
    const program = fileURLToPath(new URL('../../../bin/h2o-prefill.js', import.meta.url))
    const permission = ['--experimental-permission', '--allow-fs-read=*']
    const { code, stderr } = await runNode([...permission, program, '-m', await tinyModel(), '-p', 'x'], {})
    expect(code).toBe(4)
    expect(stderr).toContain('--allow-addons')
  })

  it('keeps its memory over prefills and contexts', { tags: ['hostile'] }, async () => {
    const model = await tinyModel({ layers: 4, hidden: 128, ffn: 512 })
    const { code, stdout, stderr } = await runFixture('memory.mjs', [model], ['--expose-gc'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { prefills, contexts } = JSON.parse(stdout) as Record<string, { plateau: number; end: number }>
    for (const { plateau, end } of [prefills, contexts] as { plateau: number; end: number }[]) {
      expect(end).toBeLessThan(plateau * 1.05)
    }
  })
})
