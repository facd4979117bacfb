// Which test file starts when. Vitest without a cache of durations, as in a fresh clone, starts large files first, and
// the longest of ours are small: they would run last and alone.

import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import seconds from './seconds.json' with { type: 'json' }

const known = new Map<string, number>(Object.entries(seconds))

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = this.ctx.config.root
    // the unknown ones are short; those that share a process stay beside each other, at the end
    const rank = ({ moduleId, project }: TestSpecification) =>
      known.get(relative(root, moduleId)) ?? (project.config.isolate ? 0 : -1)
    return [...(await super.sort(files))].sort((a, b) => rank(b) - rank(a))
  }
}
