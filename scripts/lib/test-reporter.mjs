// A Vitest reporter that says nothing: it leaves counts, seconds of files and cases in --outputFile, for scripts/test.mjs.

import { writeFileSync } from 'node:fs'

/** Tests that this run leaves to another part are none of its skipped ones. */
function isOfThisRun(test, filter) {
  if (!filter) return true
  return filter.startsWith('!') ? test.tags.length === 0 : test.tags.includes(filter)
}

export default class TestReporter {
  onInit(vitest) {
    this.vitest = vitest
  }

  onTestRunEnd(modules, errors) {
    const [filter] = this.vitest.config.tagsFilter ?? []
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    const files = []
    const cases = []
    for (const module of modules) {
      const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
        module.diagnostic()
      const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration
      files.push({ what: module.relativeModuleId, seconds: ms / 1000 })
      const tests = [...module.children.allTests()]
      if (module.state() === 'failed' && !tests.some((test) => test.result().state === 'failed'))
        counts.failed++
      for (const test of tests) {
        if (!isOfThisRun(test, filter)) continue
        counts[test.result().state]++
        const what = `${module.relativeModuleId}: ${test.fullName}`
        cases.push({ what, seconds: (test.diagnostic()?.duration ?? 0) / 1000 })
      }
    }
    writeFileSync(this.vitest.config.outputFile, JSON.stringify({ counts, files, cases }))
  }
}
