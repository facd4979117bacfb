// The package as npm packs it, in a project of its own.

import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Without what an npm that runs these tests says of itself. */
function environment(): NodeJS.ProcessEnv {
  const own = /^(npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix)|INIT_CWD)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)))
}

/** What the command writes to stdout. */
export async function run(
  command: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const options = { cwd, env: { ...environment(), ...env }, maxBuffer: 1 << 28 }
  const { stdout } = await promisify(execFile)(command, args, options)
  return stdout
}

export const emptyFolder = (name: string) => mkdtempSync(join(tmpdir(), `h2o-${name}-`))

/** Packs the package in `from`; returns the archive, which lies in `to`. */
export async function pack(from: string, to: string): Promise<string> {
  // no scripts: prepack would only write dist/ anew
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', to], from)
  return join(to, readdirSync(to).find((name) => name.endsWith('.tgz')) as string)
}

/** A project that depends on the package in `archive`; returns its folder and the installed package's. */
export async function install(archive: string, project: string): Promise<string> {
  writeFileSync(join(project, 'package.json'), '{ "name": "service", "private": true }\n')
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', archive], project)
  return join(project, 'node_modules/h2o-llama')
}

export const remove = (folder: string | undefined) =>
  folder && rmSync(folder, { recursive: true, force: true })
