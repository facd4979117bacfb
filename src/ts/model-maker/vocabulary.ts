/**
 * A byte-level vocabulary: token b is the byte b, then <s> and </s>, then unused tokens up to the size asked for.
 * Any text tokenizes to its UTF-8 bytes and back, so N ASCII characters are N tokens.
 *
 * It is GPT-2's BPE with its byte alphabet and no merges. The pre-tokenizer is qwen2's because that one does not
 * "clean up" spaces before punctuation on detokenizing, and splits without std::regex.
 */

import { bool, type GgufValue, type Metadata, string, u32 } from './gguf.js'

/** Id of `<s>`, prepended where `addBos` was asked for. */
export const BOS_TOKEN = 256
/** Id of `<|endoftext|>`, which ends a generation. */
export const EOS_TOKEN = 257
/** The smallest vocabulary: 256 bytes, BOS and EOS. */
export const MIN_VOCAB = 258

const NORMAL = 1
const CONTROL = 3
const UNUSED = 5

/** GPT-2's alphabet: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and on. */
export function byteAlphabet(): string[] {
  let next = 0x100
  return Array.from({ length: 256 }, (_, b) => {
    const printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b !== 0xad)
    return String.fromCharCode(printable ? b : next++)
  })
}

/** The tokenizer's metadata for a vocabulary of `size` tokens. */
export function vocabularyMetadata(size: number, addBos: boolean): Metadata {
  const tokens = [...byteAlphabet(), '<s>', '<|endoftext|>']
  const types = [...Array(256).fill(NORMAL), CONTROL, CONTROL]
  for (let id = MIN_VOCAB; id < size; id++) {
    tokens.push(`<unused_${id}>`)
    types.push(UNUSED)
  }
  const strings = (value: string[]): GgufValue => ({ type: 'string[]', value })
  return {
    'tokenizer.ggml.model': string('gpt2'),
    'tokenizer.ggml.pre': string('qwen2'),
    'tokenizer.ggml.tokens': strings(tokens),
    'tokenizer.ggml.token_type': { type: 'i32[]', value: types },
    'tokenizer.ggml.merges': strings([]),
    'tokenizer.ggml.bos_token_id': u32(BOS_TOKEN),
    'tokenizer.ggml.eos_token_id': u32(EOS_TOKEN),
    'tokenizer.ggml.add_bos_token': bool(addBos),
  }
}

/** What the tokenizer makes of `text`, without BOS. */
export function byteTokens(text: string): Int32Array {
  return Int32Array.from(new TextEncoder().encode(text))
}

/** Whether a token is a printable ASCII character or a line feed. */
export function isPrintable(token: number): boolean {
  return token === 10 || (token >= 0x20 && token <= 0x7e)
}
