// A PNG with a palette, as a data URI: pixels of a heat map are one byte each, and most of them equal their neighbours.
import { crc32, deflateSync } from 'node:zlib'

export type Rgb = readonly [number, number, number]

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** `rows` hold indices into the palette of up to 256 colours, all of one length. */
export function encodePng(rows: readonly Uint8Array[], palette: readonly Rgb[]): Buffer {
  const width = rows[0]?.length ?? 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(rows.length, 4)
  header.set([8, 3], 8) // 8 bits a pixel, indexed; deflate, no filter method, not interlaced
  const lines = Buffer.concat(rows.map((row) => Buffer.concat([Buffer.of(0), row]))) // filter 0 before each
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flat())),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

export function pngDataUri(rows: readonly Uint8Array[], palette: readonly Rgb[]): string {
  return `data:image/png;base64,${encodePng(rows, palette).toString('base64')}`
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  out.set(body, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
