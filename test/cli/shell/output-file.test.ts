// Files that commands write: whole, or as they were.
import { chmod, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkNoInput, checkTarget, writeParts } from '../../../src/ts/cli/shell/output-file.js'
import { WholeFile } from '../../../src/ts/cli/shell/whole-file.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'h2o-output-'))
  path = join(folder, 'report.html')
  await writeFile(path, 'before')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const never = new AbortController().signal

async function expectUnchanged(): Promise<void> {
  expect(await readFile(path, 'utf8')).toBe('before')
  expect(await readdir(folder)).toEqual(['report.html'])
}

it('takes the place of what was there', async () => {
  expect(await writeParts(path, ['é', 'nd'], never)).toBe(4)
  expect(await readFile(path, 'utf8')).toBe('énd')
  expect(await readdir(folder)).toEqual(['report.html'])
})

it('leaves what was there where it is interrupted', async () => {
  const controller = new AbortController()
  function* parts() {
    yield 'one'
    controller.abort(new Error('interrupted'))
    yield 'two'
  }
  await expect(writeParts(path, parts(), controller.signal)).rejects.toThrow('interrupted')
  await expectUnchanged()
})

it('leaves what was there where a part cannot be made', async () => {
  function* parts() {
    yield 'one'
    throw new Error('no memory')
  }
  await expect(writeParts(path, parts(), never)).rejects.toThrow(/cannot write .*no memory/)
  await expectUnchanged()
})

it('is tried before the work, and as it was then', async () => {
  await checkTarget('-o', path)
  await checkTarget('-o', join(folder, 'new'))
  await expectUnchanged()
  const tooLong = join(folder, 'x'.repeat(240)) // with what its part has behind the name
  await expect(checkTarget('-o', tooLong)).rejects.toThrow(/^-o .*x cannot be written: ENAMETOOLONG$/)
  if (process.platform !== 'linux') return
  await checkTarget('-o', '/dev/null')
  await expect(checkTarget('-o', '/proc/x')).rejects.toMatchObject({ code: 'ERR_CLI_USAGE' })
})

it('is no file that is read', async () => {
  const model = join(folder, 'model.gguf')
  await symlink(path, model)
  await expect(checkNoInput('-o', path, { model })).rejects.toThrow(
    /-o .*report.html is the file that -m names/,
  )
  await expect(checkNoInput('-o', model, { file: path })).rejects.toThrow('that -f names')
  await checkNoInput('-o', join(folder, 'none'), { file: join(folder, 'none') })
  await checkNoInput('-o', '/dev/null', { file: '/dev/null' })
})

it.skipIf(process.platform === 'win32')('keeps who may read it, and links to it', async () => {
  const link = join(folder, 'link')
  await symlink(path, link)
  for (const mode of [0o600, 0o666]) {
    await chmod(path, mode)
    const whole = await WholeFile.open(link)
    await whole.file.writeFile(`after ${mode}`)
    await whole.finish()
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    expect(await readFile(path, 'utf8')).toBe(`after ${mode}`)
    expect((await stat(path)).mode & 0o777).toBe(mode)
  }
})

it.skipIf(process.platform === 'win32')('is made where a link leads that leads nowhere', async () => {
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  await symlink('second', first)
  await symlink(join(folder, 'new'), second)
  expect(await writeParts(first, ['here'], never)).toBe(4)
  expect(await readFile(join(folder, 'new'), 'utf8')).toBe('here')
  expect((await lstat(first)).isSymbolicLink()).toBe(true)
  await symlink('round', join(folder, 'round'))
  await expect(checkTarget('-o', join(folder, 'round'))).rejects.toThrow(/round cannot be written: ELOOP$/)
})

it.skipIf(process.geteuid?.() !== 0)("is not another user's in a sticky folder", async () => {
  await chmod(folder, 0o1777)
  await checkTarget('-o', path)
  process.seteuid?.(65534)
  try {
    await expect(checkTarget('-o', path)).rejects.toThrow(/report.html cannot be written: EPERM$/)
    await checkTarget('-o', join(folder, 'own'))
  } finally {
    process.seteuid?.(0)
  }
  await expectUnchanged()
})

it.skipIf(process.platform !== 'linux')('writes into a device, and says why it cannot', async () => {
  expect(await writeParts('/dev/null', ['one', 'two'], never)).toBe(6)
  await expect(writeParts('/dev/full', ['one'], never)).rejects.toThrow('cannot write /dev/full: ENOSPC')
  expect((await stat('/dev/null')).isCharacterDevice()).toBe(true)
})
