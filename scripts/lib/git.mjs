// git, sealed off: no user or system config, no hooks, no credential prompt, and no look at any outer repository.
// Every call names its repository, so git never searches parent folders (and asks nobody about ownership).

import { spawnSync } from 'node:child_process'
import { devNull } from 'node:os'
import { dirname, join } from 'node:path'
import { Failure } from './fail.mjs'

const IDENTITY = { name: 'h2o-llama', email: 'vendor@h2o-llama.invalid' }

const CONFIG = [
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.quotePath=false',
  'core.fsmonitor=false',
  `core.hooksPath=${devNull}`,
  `core.excludesFile=${devNull}`,
  `core.attributesFile=${devNull}`,
  'commit.gpgSign=false',
  'gc.auto=0',
  'advice.detachedHead=false',
  'safe.directory=*',
].flatMap((entry) => ['-c', entry])

function sealedEnv(gitDir, extra) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('GIT_')))
  return {
    ...env,
    LC_ALL: 'C',
    GIT_CEILING_DIRECTORIES: dirname(gitDir),
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_AUTHOR_NAME: IDENTITY.name,
    GIT_AUTHOR_EMAIL: IDENTITY.email,
    GIT_COMMITTER_NAME: IDENTITY.name,
    GIT_COMMITTER_EMAIL: IDENTITY.email,
    ...extra,
  }
}

/** A repository at `gitDir`; with `workTree` null it is bare. */
export class Git {
  constructor(gitDir, workTree = null) {
    this.gitDir = gitDir
    this.workTree = workTree
  }

  static ofTree(tree) {
    return new Git(join(tree, '.git'), tree)
  }

  /** Runs git; returns { status, stdout, stderr }. `input` goes to stdin, `env` is added, `binary` keeps bytes. */
  try(args, { input, env, binary = false } = {}) {
    const where = [`--git-dir=${this.gitDir}`, ...(this.workTree ? [`--work-tree=${this.workTree}`] : [])]
    const run = spawnSync('git', [...CONFIG, ...where, ...args], {
      cwd: this.workTree ?? dirname(this.gitDir),
      env: sealedEnv(this.gitDir, env),
      input: input ?? '',
      encoding: binary ? 'buffer' : 'utf8',
      maxBuffer: 1 << 30,
    })
    if (run.error) {
      if (run.error.code === 'ENOENT') {
        throw new Failure(
          'git was not found.',
          'Install it (Debian: apt-get install git) and run this again.',
        )
      }
      throw run.error
    }
    return { status: run.status, stdout: run.stdout, stderr: run.stderr.toString() }
  }

  /** As `try`, but a non-zero status is a Failure. Returns stdout. */
  run(args, options) {
    const { status, stdout, stderr } = this.try(args, options)
    if (status !== 0) throw new Failure(`git ${args.join(' ')} failed (${status}):\n${stderr.trim()}`)
    return stdout
  }

  /** stdout of a command that answers one line. */
  line(args, options) {
    return this.run(args, options).trim()
  }

  init() {
    if (this.workTree) this.run(['init', '-q'])
    else this.run(['init', '-q', '--bare'])
  }

  /** The object id of `rev`, or null. */
  resolve(rev) {
    const { status, stdout } = this.try(['rev-parse', '--verify', '--quiet', '--end-of-options', rev])
    return status === 0 ? stdout.trim() : null
  }
}
