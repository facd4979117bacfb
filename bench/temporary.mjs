// A folder for temporary files. It goes with the process, also where Ctrl-C or SIGTERM ends that.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @type {Set<string>} */
const folders = new Set()

const remove = (folder) => {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}

function removeAll() {
  for (const folder of folders) remove(folder)
}

process.once('exit', removeAll)
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    removeAll()
    process.kill(process.pid, signal) // it ends as it would have
  })
}

/** @param {string} name of what it is for  @returns {{ path: string, remove: () => void }} */
export function temporaryFolder(name) {
  const path = mkdtempSync(join(tmpdir(), `h2o-${name}-`))
  folders.add(path)
  return { path, remove: () => remove(path) }
}
