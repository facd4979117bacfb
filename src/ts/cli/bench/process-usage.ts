// The most memory that this process had resident, in bytes.
import { readFile } from 'node:fs/promises'

/** Linux: VmHWM, because ru_maxrss starts with what the parent held when it forked. Elsewhere ru_maxrss. */
export async function processPeakRss(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const kib = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]
  return (kib === undefined ? process.resourceUsage().maxRSS : Number(kib)) * 1024
}
