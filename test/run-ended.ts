/**
 * In each worker: its temporary files have a folder of their own. Where a signal ends the run, the worker goes at once,
 * and so does this folder, which it may have filled after the run removed everything.
 */

import { chmodSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const ofRun = tmpdir()

if (basename(ofRun).startsWith('h2o-tests-')) {
  mkdirSync(ofRun, { recursive: true }) // another worker may have found it empty
  const own = mkdtempSync(join(ofRun, 'w-'))
  chmodSync(own, 0o711)
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = own

  const clean = () => {
    rmSync(own, { recursive: true, force: true, maxRetries: 3 })
    try {
      rmdirSync(ofRun)
    } catch {
      // the other worker has its files in it, or it is gone
    }
  }
  process.once('exit', clean)
  process.once('disconnect', () => {
    clean()
    process.kill(process.pid, 'SIGKILL') // process.exit() throws in a worker
  })
}
