// One file out of a .tgz, without a tar program: npm's tarballs are plain ustar with short names.

import { gunzipSync } from 'node:zlib'

const BLOCK = 512

const text = (block, from, length) => block.toString('latin1', from, from + length).replace(/\0.*$/s, '')

/** The bytes of `name` (as it stands in the archive, e.g. package/LICENSE), or null. */
export function fileInTarball(tarball, name) {
  const tar = gunzipSync(tarball)
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK)
    if (header[0] === 0) return null
    const prefix = text(header, 345, 155)
    const path = (prefix ? `${prefix}/` : '') + text(header, 0, 100)
    const size = Number.parseInt(text(header, 124, 12).trim() || '0', 8)
    if (path === name) return tar.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  return null
}
