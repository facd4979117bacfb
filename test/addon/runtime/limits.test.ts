/**
 * Limits of the system on addresses and threads, in processes of their own with the built library: `npm run build:ts`.
 */

import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { runFixture, tinyModel } from '../../ts/support.js'

describe.skipIf(process.platform !== 'linux')('a limit on addresses', () => {
  it('says so where it gets no more threads', async () => {
    // 511 stacks of 8 MiB do not fit; Node needs a good gigabyte of addresses itself
    const limits = ['-c', 'ulimit -s 8192 && ulimit -v 3500000 && exec "$0" "$@"', process.execPath]
    const model = await tinyModel()
    const run = (nThreads: string) => runFixture('limits.mjs', [model, nThreads], [], ['sh', ...limits])
    expect(await run('512')).toMatchObject({ code: 0, signal: null, stdout: 'ERR_H2O_THREAD_LIMIT\n' })
    expect(await run('2')).toMatchObject({ code: 0, signal: null, stdout: 'ok\n' })
  })

  it('refuses a context before its addresses run out', async () => {
    const limits = ['-c', 'ulimit -v 2600000 && exec "$0" "$@"', process.execPath]
    const model = await tinyModel({ layers: 4 })
    const run = (nCtx: number) =>
      runFixture('address-space.mjs', [model, String(nCtx)], [], ['sh', ...limits])
    const ended = await Promise.all([512, 65_536, 2 ** 23].map(run))
    expect(ended.map(({ code, signal }) => ({ code, signal }))).toEqual(
      ended.map(() => ({ code: 0, signal: null })),
    )
    const [small, middle, large] = ended.map(({ stdout }) => JSON.parse(stdout))
    for (const { code, details, objects } of [small, middle, large]) {
      expect({ code, objects }).toEqual({ code: 'ERR_H2O_CONTEXT_MEMORY', objects: 200_000 })
      expect(details.bytes).toBeGreaterThan(details.memory)
      expect(details.memory).toBeLessThanOrEqual(2600000 * 1024)
    }
    // from Node 24 on the limit is the memory of the machine, which the largest is refused for
    for (const { details } of [small, middle]) expect(details.limit).toBe('ulimit -v')
    expect(small.opened).toBeGreaterThan(middle.opened)
    expect(middle.opened).toBeGreaterThan(0)
    expect(large.opened).toBe(0)
  })
})

/** Root is under no limit; another real user is, without two capabilities, and the files stay readable. */
function asLimitedUser(nProcesses: number): [string, ...string[]] {
  const user = ['setpriv', '--ruid', '65534', '--bounding-set=-sys_resource,-sys_admin']
  return ['prlimit', `--nproc=${nProcesses}`, ...user, process.execPath]
}

function nodeRuns(nProcesses: number): boolean {
  const [program, ...args] = asLimitedUser(nProcesses)
  const usesThreadPool = 'fs.promises.stat("/")'
  return spawnSync(program, [...args, '-e', usesThreadPool], { timeout: 5000 }).status === 0
}

describe.skipIf(process.getuid?.() !== 0 || !nodeRuns(200))('a limit on threads', () => {
  it('is an error with a code, or fewer threads', async () => {
    let nNode = 6
    while (!nodeRuns(nNode)) nNode++
    const seen = new Set<string>()
    for (const extra of [0, 1, 2, 4, 8]) {
      const ended = await runFixture(
        'thread-limit.mjs',
        ['model/recall-q8_0.gguf'],
        [],
        asLimitedUser(nNode + extra),
      )
      expect({ extra, ...ended }).toMatchObject({ extra, code: 0, signal: null, stderr: '' })
      for (const result of JSON.parse(ended.stdout)) seen.add(result)
    }
    expect([...seen].sort()).toEqual(['ERR_H2O_THREAD_LIMIT', 'ok'])
  }, 30_000)
})
