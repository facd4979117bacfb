/**
 * What selection policies are, a row each: the engine's own (h2o_policy_traits in src/native/h2o/h2o.h), for help texts
 * and checks that need no addon. A test holds the two together.
 */

export const policies = [
  {
    name: 'query',
    about: "the chunk's own queries; single-pass only",
    local: 128,
    heavy: 640,
    heavyGrows: true,
    denseTail: 64,
    runsTwoPass: false,
    hasMemory: false,
  },
  {
    name: 'votes',
    about: 'the attention that they got so far',
    local: 256,
    heavy: 256,
    heavyGrows: false,
    denseTail: 0,
    runsTwoPass: true,
    hasMemory: true,
  },
] as const

/**
 * Who chooses what a chunk remembers besides the last positions: its own queries, from all that was read, or the
 * attention that positions have got so far (src/native/h2o/README.md, "Policies").
 */
export type Selection = (typeof policies)[number]['name']

export interface Policy {
  name: Selection
  /** Who chooses. */
  about: string
  /** Defaults of L, H and the dense tail, and whether that of H grows with the prompt. */
  local: number
  heavy: number
  heavyGrows: boolean
  denseTail: number
  runsTwoPass: boolean
  /** Chunks inherit from those before them. Else sets depend on K alone, and any whole chunk can be read on from. */
  hasMemory: boolean
}

export const selections: readonly Selection[] = policies.map(({ name }) => name)

/** With a schedule that it does not run, the first that does. */
export const defaultSelection: Selection = policies[0].name

export function policyOf(name: Selection): Policy {
  return policies.find((policy) => policy.name === name) as Policy
}
