import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Progress } from '../../scripts/lib/progress.mjs'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function stream(more = {}) {
  const writes: string[] = []
  return { writes, write: (text: string) => writes.push(text), ...more }
}

/** A build of six minutes. */
function build(to: ReturnType<typeof stream>, line: (step: number) => string) {
  const progress = new Progress('addon', 'build/build.log', to)
  for (let step = 1; step <= 360; step++) {
    vi.advanceTimersByTime(1000)
    progress.read(`${line(step)} Building CXX object some.o\n`)
  }
  progress.end()
}

test.each([
  ['ninja', (step: number) => `[${step}/360]`, '179 of 360, 3:00'],
  ['make', (step: number) => `[${String(Math.floor(step / 3.6)).padStart(3)}%]`, '49 %, 3:00'],
])('%s into a file: a line every 30 seconds', (_, line, halfway) => {
  const file = stream()
  build(file, line)
  expect(file.writes.every((text) => text.endsWith('\n'))).toBe(true)
  // one after 3 s, twelve in six minutes, and the last
  expect(file.writes).toHaveLength(14)
  expect(file.writes).toContainEqual(`addon: ${halfway} (log: build/build.log)\n`)
  expect(file.writes.at(-1)).toMatch(/^addon: done.*6:00\n$/)
})

test('a step that takes minutes, or says nothing, has its lines too', () => {
  const file = stream()
  const progress = new Progress('addon', 'build/build.log', file)
  vi.advanceTimersByTime(60_000)
  progress.read('[1/2] a\n')
  vi.advanceTimersByTime(30_000)
  progress.end('failed')
  const log = '(log: build/build.log)'
  expect(file.writes).toEqual([
    ...['0:03', '0:30', '1:00'].map((time) => `addon: building, ${time} ${log}\n`),
    `addon: 1 of 2, 1:30 ${log}\n`,
    'addon: failed, 1:30\n',
  ])
})

test('what is over at once has one line', () => {
  const file = stream()
  const progress = new Progress('addon', 'build/build.log', file)
  progress.read('[1/2] a\n[2/2] b\n')
  progress.end()
  vi.advanceTimersByTime(60_000)
  expect(file.writes).toEqual(['addon: done, 2 steps, 0:00\n'])
})

test('a terminal: one line, drawn anew, never wider than it', () => {
  const terminal = stream({ isTTY: true, columns: 30 })
  build(terminal, (step) => `[${step}/360]`)
  const drawn = terminal.writes.slice(0, -1)
  expect(drawn.length).toBeGreaterThan(360)
  for (const text of drawn) {
    expect([text.startsWith('\r'), text.includes('\n'), text.endsWith('\x1b[K')]).toEqual([true, false, true])
    expect(text.length - '\r\x1b[K'.length).toBeLessThan(30)
  }
  expect(terminal.writes.at(-1)).toBe('addon: done, 360 steps, 6:00\n')
})
