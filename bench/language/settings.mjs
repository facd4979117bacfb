// What is compared on real models: the default first, then what it is made of.

// H by query is the default of the model
const byQuery = { schedule: 'single-pass', select: 'query', S: 512, local: 128, denseTail: 64 }
const byVotes = { schedule: 'single-pass', select: 'votes', S: 512, local: 256, heavy: 255 }

/**
 * @type {(Omit<import('../quality/settings.mjs').Setting, 'heavy'> & { heavy?: number, short?: boolean, inside?: boolean, alone?: boolean,
 *   onDemand?: boolean })[]}
 *   short: at the shortest length only. inside: asked inside of prompts, too, where a tail would make the end of every
 *   call dense. alone: asked everywhere else. onDemand: if it is named
 */
export const settings = [
  { ...byQuery, label: 'query', alone: true },
  { ...byQuery, label: 'query, no tail', denseTail: 0, inside: true },
  { ...byVotes, label: 'votes', inside: true, alone: true },
  { ...byVotes, label: 'votes, tail 64', denseTail: 64 },
  { ...byVotes, label: 'Local only', local: 511, heavy: 0 },
  { ...byQuery, label: 'query S=1024', S: 1024 },
  { ...byVotes, label: 'votes, two-pass', schedule: 'two-pass', short: true },
  ...[256, 384, 512, 767].map((heavy) => ({
    ...byQuery,
    label: `query H=${heavy}`,
    heavy,
    denseTail: 0,
    inside: true,
    onDemand: true,
  })),
]

/** By llama.cpp's own products and attention: how much rounding alone takes from dense. */
export const otherDense = { label: "dense by llama.cpp's products" }
