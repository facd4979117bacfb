import { describe, expect, it } from 'vitest'
import { main } from '../../src/ts/cli/main.js'
import { memoryIo } from './support/memory-io.js'

async function cli(...argv: string[]) {
  const io = memoryIo()
  const code = await main(argv, io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('main', () => {
  it('answers --help and --version on stdout, with and without the command', async () => {
    for (const argv of [['--help'], ['run', '-h']]) {
      const { code, out, err } = await cli(...argv)
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain('-ub, --ubatch-size N')
      expect(out).toContain('Exit codes: 0 ok')
    }
    expect((await cli('--version')).out).toMatch(/^\d+\.\d+\.\d+(-dev)? \(llama\.cpp v\d+\.\d+\.\d+\)\n$/)
  })

  it('takes help for --help, of a command too', async () => {
    expect(await cli('help')).toEqual(await cli('--help'))
    expect(await cli('help', 'doctor')).toEqual(await cli('doctor', '--help'))
  })

  it.each([
    [['nope'], "unknown command 'nope'"],
    [['help', 'nope'], "unknown command 'nope'"],
    [['help', 'run', 'doctor'], 'help takes one command'],
    [['run', 'more'], 'too many arguments'],
    [['--nope'], "unknown option '--nope'"],
    [['-n', 'x', '-p', 'hi'], 'Not a whole number'],
    [['-m', '', '-p', 'hi'], 'no model was given'],
    [['-m', 'x.gguf'], 'no prompt was given'],
    [['-m', 'x.gguf', '-p', ''], 'the prompt is empty'],
  ])('ends %j with 2', async (argv, message) => {
    const { code, out, err } = await cli(...argv)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^h2o-prefill: error: /)
    expect(err).toContain(message)
    expect(err.trimEnd().split('\n').length).toBeLessThanOrEqual(2)
  })
})
