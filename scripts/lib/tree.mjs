// The working tree vendor/llama.cpp: its own little git repository. refs/h2o/base is the pristine upstream subset,
// the files are base plus patches. The stamp (inside .git) says which patches the files were last made from.

import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { BASE_REF } from './baseline.mjs'
import { Failure } from './fail.mjs'
import { Git } from './git.mjs'

const EXCLUDE = '# our own sources and build folders are no part of the patches\n/h2o\n/limits\n/build*/\n'

export class Tree {
  constructor(folder) {
    this.folder = folder
    this.git = Git.ofTree(folder)
    this.stampFile = join(folder, '.git', 'h2o-stamp.json')
  }

  exists() {
    return existsSync(this.folder)
  }

  /** Whether the folder is a repository that this tool made. */
  isOurs() {
    return existsSync(join(this.folder, '.git')) && this.git.resolve(BASE_REF) !== null
  }

  baseTree() {
    return this.git.resolve(`${BASE_REF}^{tree}`)
  }

  stamp() {
    return existsSync(this.stampFile) ? JSON.parse(readFileSync(this.stampFile, 'utf8')) : null
  }

  writeStamp(stamp) {
    writeFileSync(this.stampFile, `${JSON.stringify(stamp)}\n`)
  }

  /** Makes the repository with the baseline's files in it. */
  create(bundle) {
    this.git.init()
    for (const setting of ['core.autocrlf=false', 'core.safecrlf=false', 'commit.gpgSign=false']) {
      this.git.run(['config', ...setting.split('=')])
    }
    this.#exclude()
    this.rebase(bundle)
    this.git.run(['checkout-index', '--all', '--force', '--index'])
  }

  /** Sets base, branch and index to the baseline in `bundle`; the files stay as they are. */
  rebase(bundle) {
    this.git.run(['fetch', '-q', '--no-tags', bundle, `+${BASE_REF}:${BASE_REF}`])
    const base = this.git.resolve(BASE_REF)
    this.git.run(['symbolic-ref', 'HEAD', 'refs/heads/upstream'])
    this.git.run(['update-ref', 'refs/heads/upstream', base])
    this.git.run(['read-tree', base])
  }

  /** Runs `body` with the path of a scratch index that is gone afterwards. */
  withIndex(body) {
    const scratch = mkdtempSync(join(this.folder, '.git', 'h2o-index-'))
    try {
      return body(join(scratch, 'index'))
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  }

  /** The tree id of the files as they are now. */
  snapshot() {
    return this.withIndex((index) => {
      const own = join(this.folder, '.git', 'index')
      if (existsSync(own)) {
        copyFileSync(own, index)
        // its time decides which files git looks at again although their own times say nothing
        utimesSync(index, statSync(own).atime, statSync(own).mtime)
      }
      const env = { GIT_INDEX_FILE: index }
      this.git.run(['add', '--all', '.'], { env })
      return this.git.line(['write-tree'], { env })
    })
  }

  /** The paths that differ between two trees. */
  changed(from, to) {
    return this.git
      .run(['diff-tree', '-r', '-z', '--no-renames', '--name-only', from, to])
      .split('\0')
      .filter(Boolean)
  }

  /** The tree `onto` with `paths` as they are in the tree `from`. */
  overlay(onto, from, paths) {
    const gone = `0 ${'0'.repeat(40)}\t`
    return this.withIndex((index) => {
      const env = { GIT_INDEX_FILE: index }
      this.git.run(['read-tree', onto], { env })
      const rows = paths.map(
        (path) => this.git.line(['ls-tree', from, '--', `:(literal)${path}`]) || gone + path,
      )
      this.git.run(['update-index', '-z', '--index-info'], {
        env,
        input: rows.map((row) => `${row}\0`).join(''),
      })
      return this.git.line(['write-tree'], { env })
    })
  }

  /** Brings the files from tree `from` to tree `to`, writing only those whose content differs. */
  switch(from, to) {
    const paths = this.changed(from, to)
    this.withIndex((index) => {
      const env = { GIT_INDEX_FILE: index }
      this.git.run(['read-tree', to], { env })
      const kept = new Set(this.git.run(['ls-files', '-z'], { env }).split('\0'))
      const written = paths.filter((path) => kept.has(path))
      this.git.run(['checkout-index', '--force', '-z', '--stdin'], {
        env,
        input: written.map((p) => `${p}\0`).join(''),
      })
      for (const path of paths) if (!kept.has(path)) rmSync(join(this.folder, path), { force: true })
    })
    return paths
  }

  /** <tree>/<name> -> our sources: links, so that an edit there needs no copying; copies where links are refused. */
  linkSources(sources) {
    this.#exclude() // a tree that was made before a link was added
    for (const [name, folder] of Object.entries(sources)) this.#link(join(this.folder, name), folder)
  }

  #exclude() {
    writeFileSync(join(this.folder, '.git', 'info', 'exclude'), EXCLUDE)
  }

  #link(link, sources) {
    const target = process.platform === 'win32' ? sources : relative(dirname(link), sources)
    const found = lstatSync(link, { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) {
      if (relative(target, readlinkSync(link)) === '') return
      unlinkSync(link)
    } else if (found) {
      rmSync(link, { recursive: true })
    }
    try {
      symlinkSync(target, link, 'junction')
    } catch (error) {
      if (!existsSync(sources)) throw new Failure(`cannot link ${link}: ${error.message}`)
      cpSync(sources, link, { recursive: true, preserveTimestamps: true })
    }
  }
}
