// The baseline: one commit that holds the pristine subset of upstream, kept as a small git bundle in the cache.
// It is derived from the pin alone (fixed author, date and message), so every machine makes the same commit.

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Failure } from './fail.mjs'
import { Git } from './git.mjs'
import { inSubset } from './pin.mjs'
import { bundleFromNpm, bundleInTarball, readTarball } from './tarball.mjs'

export const BASE_REF = 'refs/h2o/base'

/** The bundle with the baseline commit; made from `from` (default: npm) when the cache does not have it. */
export function baselineBundle({ pin, cache, from, pack, say }) {
  const file = join(cache, `baseline-${pin.subset.tree.slice(0, 12) || 'new'}.bundle`)
  if (existsSync(file) && !from && pin.subset.tree) return file

  say?.(`taking llama.cpp ${pin.upstream.tag} from ${from ?? `${pin.npm.package}@${pin.npm.version}`} ...`)
  mkdirSync(cache, { recursive: true })
  const scratch = mkdtempSync(join(cache, 'tmp-'))
  try {
    const git = new Git(join(scratch, 'upstream.git'))
    mkdirSync(git.gitDir)
    git.init()
    const env = provideUpstream(git, { pin, cache, from, pack, scratch })
    const commit = commitSubset(git, pin, env, join(scratch, 'index'))
    git.run(['update-ref', BASE_REF, commit], { env })
    const made = join(scratch, 'baseline.bundle')
    git.run(['bundle', 'create', '-q', made, BASE_REF], { env })
    renameSync(made, file)
    return file
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Makes the pinned upstream tree readable in `git`; returns the environment that later calls need. */
function provideUpstream(git, { pin, cache, from, pack, scratch }) {
  if (from && statSync(from, { throwIfNoEntry: false })?.isDirectory())
    return borrowCheckout(resolve(from), pin)

  let bundle = from && resolve(from)
  if (!from || from.endsWith('.tgz')) {
    bundle = join(scratch, 'upstream.bundle')
    writeFileSync(
      bundle,
      from ? bundleInTarball(readTarball(from, pin.npm.integrity), pin) : bundleFromNpm(pin, cache, pack),
    )
  } else if (!existsSync(from)) {
    throw new Failure(`--from ${from}: there is no such file or folder.`)
  }
  git.run(['fetch', '-q', '--no-tags', bundle, 'HEAD:refs/upstream/head'])
  const commit = git.resolve('refs/upstream/head^{commit}')
  const tree = git.resolve('refs/upstream/head^{tree}')
  if (tree !== pin.upstream.tree || (!from && commit !== pin.upstream.commit)) {
    throw new Failure(
      `${from ?? pin.npm.package} does not hold the pinned upstream.\n` +
        `  pinned: commit ${pin.upstream.commit}, tree ${pin.upstream.tree}\n  found:  commit ${commit}, tree ${tree}`,
    )
  }
  return {}
}

/** A local checkout lends its objects. Only the tree must match: the npm bundle's commit is a squashed one. */
function borrowCheckout(folder, pin) {
  const gitDir = new Git(join(folder, '.git')).resolve('HEAD') ? join(folder, '.git') : folder
  const there = new Git(gitDir)
  const objects = there.try(['rev-parse', '--path-format=absolute', '--git-path', 'objects'])
  if (objects.status !== 0) throw new Failure(`--from ${folder}: not a git repository.`)
  if (!there.resolve(`${pin.upstream.tree}^{tree}`)) {
    throw new Failure(
      `--from ${folder}: it does not hold the pinned tree ${pin.upstream.tree}.`,
      `Fetch llama.cpp ${pin.upstream.tag} into it and run this again.`,
    )
  }
  return { GIT_ALTERNATE_OBJECT_DIRECTORIES: objects.stdout.trim() }
}

function commitSubset(git, pin, env, index) {
  const inIndex = { ...env, GIT_INDEX_FILE: index }
  const rows = git.run(['ls-tree', '-r', '-z', pin.upstream.tree], { env }).split('\0').filter(Boolean)
  const taken = rows.filter((row) => inSubset(pin.subset, row.slice(row.indexOf('\t') + 1)))
  git.run(['update-index', '-z', '--index-info'], { env: inIndex, input: `${taken.join('\0')}\0` })
  const tree = git.line(['write-tree'], { env: inIndex })
  if (tree !== pin.subset.tree) {
    throw new Failure(
      `The subset of upstream has tree ${tree}, the pin says "${pin.subset.tree}".`,
      'After a change of the pin or of its lists, write the new tree into subset.tree of vendor/llama.cpp.json.',
    )
  }
  const message =
    `llama.cpp ${pin.upstream.tag}, the part that h2o-llama builds\n\n` +
    `upstream tree ${pin.upstream.tree}\n`
  const dated = { ...env, GIT_AUTHOR_DATE: pin.upstream.date, GIT_COMMITTER_DATE: pin.upstream.date }
  return git.line(['commit-tree', tree, '-F', '-'], { env: dated, input: message })
}
