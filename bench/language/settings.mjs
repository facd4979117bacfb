// What is compared on real models.

const base = { schedule: 'single-pass', select: 'query', S: 512, local: 256, heavy: 255 }

/** @type {(import('../quality/settings.mjs').Setting & { short?: boolean })[]} short: at the shortest length only */
export const settings = [
  { ...base, label: 'query' },
  { ...base, label: 'query S=1024', S: 1024, heavy: 256 },
  { ...base, label: 'votes', select: 'votes' },
  { ...base, label: 'Local only', select: 'votes', local: 511, heavy: 0 },
  { ...base, label: 'votes, tail 64', select: 'votes', denseTail: 64 },
  { ...base, label: 'query, tail 64', denseTail: 64 },
  { ...base, label: 'query L=128', local: 128, heavy: 383 },
  { ...base, label: 'votes, two-pass', select: 'votes', schedule: 'two-pass', short: true },
]
