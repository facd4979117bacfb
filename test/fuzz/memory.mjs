// The memory of another process.

import { readFileSync } from 'node:fs'

/** Resident bytes; 0 where there is no /proc, or the process has ended. */
export function rssOf(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096
  } catch {
    return 0
  }
}
