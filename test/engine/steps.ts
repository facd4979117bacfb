// Sessions as the tests of both methods list them.

/** A call of so many tokens, so many tokens one by one, or everything from here on removed. */
export type Step = { call: number } | { decode: number } | { rollback: number }

export interface SessionCase {
  name: string
  arch?: 'llama' | 'qwen2' | 'qwen3'
  kvHeads?: number
  S: number
  L: number
  H: number
  steps: Step[]
}

export const calls = (...n: number[]): Step[] => n.map((call) => ({ call }))

/** Tokens of each call that a step makes. */
export function runsOf(step: { call: number } | { decode: number }): number[] {
  return 'call' in step ? [step.call] : Array.from({ length: step.decode }, () => 1)
}
