// llama.cpp's -e: \n \r \t \' \" \\ and \xHH in a prompt become the bytes they stand for; anything else stays.
// On bytes, because "\xe2\x82\xac" is one character of three bytes.

const BACKSLASH = 0x5c
const simple = new Map(
  Object.entries({ n: '\n', r: '\r', t: '\t', "'": "'", '"': '"', '\\': '\\' }).map(
    ([letter, char]) => [letter.charCodeAt(0), char.charCodeAt(0)] as const,
  ),
)

export function processEscapes(input: Buffer): Buffer {
  if (!input.includes(BACKSLASH)) return input
  const output = Buffer.alloc(input.length)
  let n = 0
  for (let i = 0; i < input.length; i++) {
    const byte = input[i] as number
    const next = input[i + 1]
    if (byte !== BACKSLASH || next === undefined) {
      output[n++] = byte
      continue
    }
    i++
    const char = simple.get(next)
    const hex = next === 0x78 ? input.toString('latin1', i + 1, i + 3) : ''
    if (char !== undefined) {
      output[n++] = char
    } else if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      output[n++] = Number.parseInt(hex, 16)
      i += 2
    } else {
      output[n++] = BACKSLASH
      output[n++] = next
    }
  }
  return output.subarray(0, n)
}
