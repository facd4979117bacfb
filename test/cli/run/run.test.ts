import { describe, expect, it } from 'vitest'
import { main } from '../../../src/ts/cli/main.js'
import { denseCall, type FakeScript, fakeApi } from '../support/fake-api.js'
import { memoryIo } from '../support/memory-io.js'
import { type RunFlags, run } from '../support/run-flags.js'

async function runWith(flags: Partial<RunFlags>, script: FakeScript = {}, tty = false) {
  const { api, log } = fakeApi(script)
  const io = memoryIo({ tty })
  const code = await run({ model: 'm.gguf', prompt: 'abcdefghijkl', ...flags }, io, api)
  return { code, log, out: io.stdout.text, err: io.stderr.text, io }
}

describe('run', () => {
  it('streams the text to stdout and everything else to stderr', async () => {
    const { code, out, err, log } = await runWith({ predict: 2 })
    expect(code).toBe(0)
    expect(out).toBe('hello')
    expect(err.split('\n')).toEqual([
      'prefill: 12/12 tokens (12 at 0, h2o)',
      expect.stringMatching(/^prefill: 12 tokens, h2o \(single-pass/),
      expect.stringMatching(/^decode: 2 tokens, .* first token after/),
      '',
    ])
    expect(log.tokens).toHaveLength(12)
    expect(log.context).toMatchObject({ nCtx: 513 })
    expect(log.disposed).toEqual(['context', 'model'])
    expect(log.logLevel).toBeUndefined()
  })

  it('prints one object and no stream with --json', async () => {
    const { out, err } = await runWith({ json: true, predict: 2 })
    expect(out.endsWith('}\n')).toBe(true)
    expect(JSON.parse(out)).toMatchObject({ model: 'm.gguf', path: 'h2o', text: 'hello', prompt_n: 12 })
    expect(JSON.parse(out).timings.ttft_ms).toBeGreaterThan(0)
    expect(err).toContain('prefill: 12 tokens, h2o')
  })

  it('prefills only with -n 0', async () => {
    const { out, err } = await runWith({ json: true, predict: 0 }, { pieces: [] })
    expect(JSON.parse(out)).toMatchObject({ text: '', timings: { ttft_ms: null, predicted_n: 0 } })
    expect(err).not.toContain('decode')
  })

  it('says what dense would have taken, where there is something to predict it from', async () => {
    expect((await runWith({})).err).toMatch(/ \(predicted\)$/m)
    expect((await runWith({ device: [] }, { gpus: 1 })).err).toContain('(predicted)')
    for (const script of [{ gpus: 1 }, { calls: [denseCall] }]) {
      const { out, err } = await runWith({ json: true }, script)
      expect(err).not.toContain('predicted')
      expect(JSON.parse(out).gain_predicted).toBeNull()
    }
  })

  it('says why it was dense', async () => {
    const { err } = await runWith({}, { calls: [denseCall] })
    expect(err).toContain('dense (one-chunk: ')
  })

  it('prints each warning once', async () => {
    const warnings = [
      { code: 'W1', message: 'one' },
      { code: 'W1', message: 'one' },
      { code: 'W2', message: 'two' },
    ]
    const { err } = await runWith({}, { warnings })
    expect(err.match(/warning/g)).toHaveLength(2)
    expect(err).toContain('h2o-prefill: warning: one\nh2o-prefill: warning: two\n')
  })

  it('prints sizes with -v', async () => {
    const { err, log } = await runWith({ verbose: true })
    expect(log.logLevel).toBe('info')
    expect(err).toContain('persistent h2o buffers 10 bytes (0.000 MiB, 1.00 % of the kv cache)')
    expect(err).toContain('graph: 77 nodes')
  })

  it('ends the line of the text on a terminal, and clears the bar before it', async () => {
    const { out, err } = await runWith({ predict: 2 }, {}, true)
    expect(out).toBe('hello')
    expect(err).toContain('\r\x1b[2K\nprefill: 12 tokens')
  })

  it('asks for a model before anything else', async () => {
    await expect(runWith({ model: '' })).rejects.toThrow(expect.objectContaining({ code: 'ERR_CLI_USAGE' }))
  })

  it('lets errors through and disposes what there is', async () => {
    const loadError = Object.assign(new Error('gone'), { code: 'ERR_H2O_MODEL_NOT_FOUND' })
    await expect(runWith({}, { loadError })).rejects.toBe(loadError)
    const boom = new Error('boom')
    const script = {
      beforePiece: () => {
        throw boom
      },
    }
    await expect(runWith({}, script)).rejects.toBe(boom)
  })

  it('stops at SIGINT with what there was, and takes its handler away', async () => {
    const before = process.listenerCount('SIGINT')
    const script = { beforePiece: (i: number) => void (i === 1 && process.emit('SIGINT')) }
    const { code, out, err, log } = await runWith({}, script)
    expect(code).toBe(130)
    expect(out).toBe('he')
    expect(err).toContain('interrupted after 1 generated token')
    expect(log.disposed).toEqual(['context', 'model'])
    expect(process.listenerCount('SIGINT')).toBe(before)
  })

  it('prints no half object at SIGINT with --json', async () => {
    const script = { beforePiece: () => void process.emit('SIGINT') }
    const { code, out, err } = await runWith({ json: true }, script)
    expect(code).toBe(130)
    expect(out).toBe('')
    expect(err).toContain('interrupted after 12 of 12 prompt tokens')
  })

  it('ends quietly when the reader has left', async () => {
    const { api, log } = fakeApi()
    const io = memoryIo()
    io.stdout.failWith = 'EPIPE'
    expect(await run({ model: 'm', prompt: 'x' }, io, api)).toBe(0)
    expect(io.stderr.text).not.toContain('error')
    expect(log.disposed).toEqual(['context', 'model'])
  })

  it('says its help and version to a reader who has left', async () => {
    for (const argv of [
      ['--help'],
      ['--version'],
      ['compare', '--help'],
      ['inspect', '--help'],
      ['bench', '--help'],
    ]) {
      const io = memoryIo()
      io.stdout.failWith = 'EPIPE'
      expect(await main(argv, io)).toBe(0)
      io.stdout.failWith = 'ENOSPC'
      expect(await main(argv, io)).toBe(1)
      expect(io.stderr.text).toContain('ENOSPC')
    }
  })

  it('does not take any other write error for that', async () => {
    const { api } = fakeApi()
    const io = memoryIo()
    io.stdout.failWith = 'ENOSPC'
    await expect(run({ model: 'm', prompt: 'x' }, io, api)).rejects.toThrow('ENOSPC')
  })
})
