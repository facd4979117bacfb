#!/usr/bin/env node
// npm run prebuilds: a binary that runs on every processor of a platform, into prebuilds/, from where an installed
// package loads it. (Not "prebuild": npm would run a script of that name before every build.)

import { cpSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { Failure, main, UsageFailure } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { LoggedBuild } from './lib/logged-build.mjs'
import { PLATFORMS, SIZE_LIMIT, THIS_PLATFORM } from './lib/platforms.mjs'
import { has } from './lib/run.mjs'
import { checkSymbolVersions } from './lib/symbol-versions.mjs'
import { compilerEnv, generator, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

const HELP = `usage: npm run prebuilds [-- options]

  --platform NAME  ${Object.keys(PLATFORMS).join(', ')}; linux-arm64 can be made on another Linux
                   (this machine's: ${THIS_PLATFORM})
  --variants LIST  only these CPU backends, such as haswell,zen4 (all of the platform)
  --out FOLDER     where prebuilds/ goes (the project)
  --check          make nothing: check what is there, of whatever platform

It compiles one CPU backend per kind of processor and takes 7 to 16 minutes of two cores.
`

const LIBRARY = /\.(so|dylib|dll|node)$/

function requireCompiler(name, { cross }) {
  requireToolchain()
  if (cross && name !== THIS_PLATFORM && !has(cross.compiler))
    throw new Failure(
      `${name} needs ${cross.compiler}, which this machine does not have.`,
      `Debian, Ubuntu: sudo apt-get install ${cross.debian}`,
    )
  if (!cross && name !== THIS_PLATFORM) throw new Failure(`${name} can only be made on ${name}.`)
}

/** The variants that `list` names, in the order of `all`; all of them without a list. */
function chosenVariants(name, all, list) {
  if (list === undefined) return all
  const asked = list.split(',').map((variant) => variant.trim())
  const unknown = asked.find((variant) => !all?.includes(variant))
  if (unknown !== undefined)
    throw new UsageFailure(
      `--variants: ${name} has no variant '${unknown}'.`,
      all ? `It has ${all.join(', ')}.` : 'It always gets all that llama.cpp has.',
    )
  return all.filter((variant) => asked.includes(variant))
}

/** Compiles into `folder`; the results lie in its bin/. */
async function compile(paths, name, { cross }, variants, folder) {
  const defines = ['H2O_PORTABLE=ON']
  if (variants) defines.push(`H2O_CPU_VARIANTS=${variants.join(';')}`)
  if (cross && name !== THIS_PLATFORM)
    defines.push(`CMAKE_TOOLCHAIN_FILE=${join(paths.root, cross.toolchain)}`)

  const build = new LoggedBuild(`prebuild ${name}`, join(folder, 'build.log'))
  const cmake = (...args) => build.run('cmake', args, { env: compilerEnv() })
  await cmake('-S', paths.root, '-B', folder, ...generator(folder), ...defines.map((d) => `-D${d}`))
  await cmake('--build', folder, '--config', 'Release', '--target', 'h2o_llama', '--parallel', jobs())
  build.done()
}

/** Strips the results and lays them out as node-gyp-build looks for them. */
async function layOut(name, { cross }, folder, out) {
  const staged = join(folder, 'build/Release') // where prebuildify looks
  rmSync(staged, { recursive: true, force: true })
  mkdirSync(staged, { recursive: true })
  for (const file of readdirSync(join(folder, 'bin')).filter((file) => LIBRARY.test(file)))
    cpSync(join(folder, 'bin', file), join(staged, file))

  const [platform, arch] = name.split('-')
  const prebuildify = createRequire(import.meta.url)('prebuildify')
  await promisify(prebuildify)({
    ...{ name: 'h2o-llama', platform, arch, napi: true, cwd: folder, out },
    nodeGyp: `"${process.execPath}" -e 0 --`, // compiled already
    shell: true,
    strip: true,
    ...(cross && name !== THIS_PLATFORM ? { stripBin: cross.strip } : {}),
  })
}

/** Throws where the prebuilds in `folder` ask too much of a system or are too large; says what they ask for. */
function check(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => LIBRARY.test(file))
  const onLinux = files.filter((file) => file.startsWith('linux-')).map((file) => join(folder, file))
  if (onLinux.length > 0) console.error(`on Linux they need ${checkSymbolVersions(onLinux)}`)
  const size = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  if (size > SIZE_LIMIT) throw new Failure(`the prebuilds have ${size} bytes, more than ${SIZE_LIMIT}.`)
  console.error(`${readdirSync(folder).join(', ')}: ${files.length} files, ${(size / 1e6).toFixed(1)} MB`)
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      platform: { type: 'string', default: THIS_PLATFORM },
      variants: { type: 'string' },
      out: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)

  const paths = layout()
  const out = resolve(values.out ?? paths.root)
  const prebuilds = join(out, 'prebuilds')
  if (values.check) return check(prebuilds)

  const name = values.platform
  const platform = PLATFORMS[name]
  if (!platform)
    throw new UsageFailure(
      `--platform ${name}: no such platform.`,
      `There are ${Object.keys(PLATFORMS).join(', ')}.`,
    )
  const variants = chosenVariants(name, platform.variants, values.variants)
  requireCompiler(name, platform)

  vendor(paths, { say: (line) => console.error(line) })
  const folder = join(paths.root, 'build-portable', name)
  rmSync(join(folder, 'bin'), { recursive: true, force: true }) // a variant may have left the list
  await compile(paths, name, platform, variants, folder)
  rmSync(join(prebuilds, name), { recursive: true, force: true })
  await layOut(name, platform, folder, out)
  check(prebuilds)
})
