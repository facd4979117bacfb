// The ways to run the method. The default's is core; `votes`, two-pass and the composed graph are the part `ways`.

import { describe, test } from 'vitest'
import type { Schedule, Selection } from '../../src/ts/index.js'

export interface Way {
  select?: string
  schedule?: Schedule
  kernels?: 'fused' | 'composed'
}

export const selections = ['query', 'votes'] as const satisfies Selection[]

export const policies = selections.map((select) => ({ select }))

/** What a test or a describe of this way has for options. */
export function tagsOf({ select, schedule, kernels }: Way): { tags: string[] } {
  const isOther = select === 'votes' || schedule === 'two-pass' || kernels === 'composed'
  return { tags: isOther ? ['ways'] : [] }
}

const nameOf = (name: string, way: object) =>
  name.replace(/\$(\w+)/g, (_, key) => String(way[key as keyof typeof way]))

/** test.each, each way in its part. `$key` in the name is what the way has there. */
export function testWays<T extends Way>(
  ways: readonly T[],
  name: string,
  run: (way: T) => void | Promise<void>,
): void {
  for (const way of ways) test(nameOf(name, way), tagsOf(way), () => run(way))
}

/** Likewise describe.each. */
export function describeWays<T extends Way>(
  ways: readonly T[],
  name: string,
  define: (way: T) => void,
): void {
  for (const way of ways) describe(nameOf(name, way), tagsOf(way), () => define(way))
}
