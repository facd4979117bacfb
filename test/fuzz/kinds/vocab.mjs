// The mutator of vocabularies: kinds of tokenizer, tokens, their types and scores, merges, special tokens, the texts.

import { readFileSync } from 'node:fs'
import { oddNumber } from '../draw.mjs'
import { fuzzModel, mutated } from '../gguf-file.mjs'
import { drawUse, useModel } from '../use-model.mjs'

const SOURCE = readFileSync(new URL('../../../vendor/llama.cpp/src/llama-vocab.cpp', import.meta.url), 'utf8')
const MODELS = [...new Set([...SOURCE.matchAll(/tokenizer_model == "([^"]+)"/g)].map(([, name]) => name))]
const PRES = [...new Set([...SOURCE.matchAll(/tokenizer_pre == "([^"]+)"/g)].map(([, name]) => name))]
const SPECIAL = [
  'bos',
  'eos',
  'eot',
  'eom',
  'unknown',
  'seperator',
  'padding',
  'mask',
  'fim_pre',
  'fim_pad',
  'fim_rep',
]

const WORDS = [
  '',
  '\\',
  '\\x',
  '\\x0a',
  '\\n',
  '\n',
  ' ',
  '\u2581',
  '\u2581the',
  'the',
  'a',
  '<0x0A>',
  '<0x',
  '<unk>',
  '</s>',
  '<|im_end|>',
  '<|endoftext|>',
  '[UNK]',
  '\u00e9',
  '\u{1f600}',
  'ab',
  'abc',
  '##a',
  '\u0000',
  '\uffff',
  'x'.repeat(500),
]
const TEXTS = [
  '',
  ' ',
  'abc',
  'The quick brown fox.\n\n  12 345 \u00e9\u00fc \u{1f600}\u{1f468}\u200d\u{1f469} <|im_end|></s><0x0A>',
  'a'.repeat(3000),
  '\u2581'.repeat(200),
  '\u0000\u0001\ufffd\u2028',
  ' \n\t'.repeat(300),
  '\ufdfa'.repeat(50),
  '1'.repeat(999),
  "'s 'LL \u4e2d\u6587\u0e01",
]

const bytes256 = Array.from({ length: 256 }, (_, i) => i)
const hex = (i) => i.toString(16).padStart(2, '0')

/** Vocabularies to start from: what the kinds of tokenizer expect. */
const STARTS = {
  own: undefined,
  'byte tokens': bytes256.map((i) => `<0x${hex(i).toUpperCase()}>`),
  escaped: bytes256.map((i) => `\\x${hex(i)}`),
  letters: bytes256.map((i) => (i > 32 && i < 127 ? String.fromCharCode(i) : `\u2581${i}`)),
  pieces: bytes256.map((i) => `##${i}`),
}

let model

export function recipe(draw) {
  const edits = [['set', 'tokenizer.ggml.model', 'string', draw.pick(MODELS)]]
  const start = draw.pick(Object.keys(STARTS))
  if (draw.chance(0.7)) edits.push(['set', 'tokenizer.ggml.pre', 'string', draw.pick(PRES)])

  for (let n = draw.int(0, 12); n > 0; n--) {
    const word = draw.pick(WORDS) + (draw.chance(0.5) ? draw.int(0, 999) : '')
    edits.push(['item', 'tokenizer.ggml.tokens', draw.int(0, 299), word])
  }
  for (let n = draw.int(0, 6); n > 0; n--) {
    edits.push([
      'item',
      'tokenizer.ggml.token_type',
      draw.int(0, 299),
      draw.pick([0, 1, 2, 3, 4, 5, 6, 7, -1]),
    ])
  }
  if (draw.chance(0.15)) {
    const type = draw.pick([1, 2, 3, 4, 5, 6])
    edits.push(['set', 'tokenizer.ggml.token_type', 'i32[]', draw.list(300, () => type)])
  }
  if (draw.chance(0.4)) {
    const scores = draw.list(300, (i) => (draw.chance(0.02) ? draw.pick(['NaN', 'Infinity', -1e30]) : -i))
    edits.push(['set', 'tokenizer.ggml.scores', 'f32[]', scores])
  }
  if (draw.chance(0.4)) {
    const merge = () => `${draw.pick(WORDS)} ${draw.pick(WORDS)}`
    edits.push(['set', 'tokenizer.ggml.merges', 'string[]', draw.list(draw.int(0, 40), merge)])
  }
  if (draw.chance(0.2)) {
    const map = draw.list(draw.pick([0, 3, 4, 64, 5000]), () => draw.pick([0, 1, 65, 255, draw.int(0, 255)]))
    if (map.length > 3) map.splice(0, 4, draw.pick([0, 4, 32]), 0, 0, 0)
    edits.push(['set', 'tokenizer.ggml.precompiled_charsmap', 'u8[]', map])
  }
  for (let n = draw.int(0, 3); n > 0; n--) {
    const key = `tokenizer.ggml.${draw.pick(SPECIAL)}_token_id`
    edits.push(['set', key, 'u32', draw.chance(0.5) ? draw.int(0, 299) : oddNumber(draw, 300)])
  }
  for (const flag of [
    'add_bos_token',
    'add_eos_token',
    'add_sep_token',
    'add_space_prefix',
    'remove_extra_whitespaces',
  ]) {
    if (draw.chance(0.3)) edits.push(['set', `tokenizer.ggml.${flag}`, 'bool', draw.int(0, 1)])
  }
  if (draw.chance(0.1)) edits.push(['resize', 'tokenizer.ggml.tokens', draw.pick([0, 1, 299, 301])])
  return { kind: 'vocab', start, edits, text: draw.pick(TEXTS), use: drawUse(draw) }
}

export async function run({ start, edits, text, use }) {
  model ??= fuzzModel({ spec: { arch: 'llama', hidden: 64, heads: 4, vocab: 300 } })
  const tokens = STARTS[start]?.map((token, i) => ['item', 'tokenizer.ggml.tokens', i, token]) ?? []
  return useModel(mutated(model, [...tokens, ...edits]), use, text)
}
