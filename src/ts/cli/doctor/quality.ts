// What was measured of answers inside of a prompt, with the defaults: the first table of docs/quality.md, all its items of a
// model together, and of the recall model the front there.

interface Measured {
  /** query heads to a KV head */
  group: number
  model: string
  tokens: number
  /** answers that dense attention gives, how many of them are lost, and how many others are won */
  of: number
  lost: number
  won: number
}

const measured: readonly [Measured, ...Measured[]] = [
  { group: 2, model: 'the recall model', tokens: 8192, of: 56, lost: 0, won: 0 },
  { group: 3, model: 'SmolLM2-135M', tokens: 4096, of: 218, lost: 6, won: 7 },
  { group: 4, model: 'Gemma 3 270M', tokens: 4096, of: 37, lost: 0, won: 0 },
  { group: 6, model: 'Qwen2.5-Coder-1.5B', tokens: 4096, of: 130, lost: 0, won: 1 },
  { group: 7, model: 'Qwen2.5-Coder-0.5B', tokens: 4096, of: 286, lost: 2, won: 1 },
]

/** Of the model whose groups are nearest in size, the larger ones of two. */
export function measuredFor(group: number): Measured {
  const far = (one: Measured) => Math.abs(one.group - group)
  return measured.reduce((best, one) => (far(one) <= far(best) ? one : best))
}

export function describeQuality(group: number): string {
  const { model, tokens, of, lost, won, ...other } = measuredFor(group)
  const heads = (n: number) => `${n} query ${n === 1 ? 'head' : 'heads'} to a KV head`
  const whose = other.group === group ? model : `${model} (${other.group})`
  return `${heads(group)}; inside of ${tokens} tokens ${whose} lost ${lost} of ${of} answers that dense attention gives, and won ${won}`
}
