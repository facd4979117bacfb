/** What counts of H2O are unless given, as help texts say it. `resolvedH2o()` has them for a given context. */

import { type Policy, policies } from '../../policies.js'

const growing = 'growing with the prompt'

export const countDefaults = {
  local: textOf(({ local }) => `${local}`),
  heavy: textOf(({ heavy, heavyGrows }) => (heavyGrows ? `${heavy}, ${growing}` : `${heavy}`)),
  denseTail: textOf(({ denseTail }) => `${denseTail}`),
} as const

function textOf(text: (policy: Policy) => string): string {
  const [first, ...others] = policies
  return `(default: ${[text(first), ...others.map((policy) => `${text(policy)} with ${policy.name}`)].join('; ')})`
}
