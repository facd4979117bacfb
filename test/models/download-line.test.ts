// The line that is printed does what it says: a shell reads it, with stand-ins for pip, hf and curl.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { downloadLine } from '../../scripts/lib/download-line.mjs'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'h2o-line-'))
  for (const program of ['pip', 'hf', 'curl']) {
    writeFileSync(join(folder, program), `#!/bin/sh\nprintf '%s\\n' ${program} "$@" >> '${folder}/log'\n`)
    chmodSync(join(folder, program), 0o755)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The words of each command that the line runs. */
function run(line: string): string[] {
  writeFileSync(join(folder, 'log'), '')
  execFileSync('/bin/sh', ['-c', line], { cwd: folder, env: { PATH: folder } })
  return readFileSync(join(folder, 'log'), 'utf8').trimEnd().split('\n')
}

const PIP = ['pip', 'install', 'huggingface_hub']

describe.skipIf(process.platform === 'win32')('a line for', () => {
  test.each([
    ['Qwen/Qwen3-0.6B-GGUF:Q8_0', ['Qwen/Qwen3-0.6B-GGUF', '--include', '*Q8_0*.gguf']],
    ['Qwen/Qwen3-0.6B-GGUF', ['Qwen/Qwen3-0.6B-GGUF', '--include', '*.gguf']],
    ['a/b/c/d-Q4.gguf', ['a/b', 'c/d-Q4.gguf']],
  ])('%s', (what, words) => {
    const line = downloadLine(what, "a folder's") as string
    expect(run(line)).toEqual([...PIP, 'hf', 'download', ...words, '--local-dir', "a folder's"])
  })

  test.each([
    ['https://example.org/x/y.gguf?download=true', 'y.gguf'],
    ["https://example.org/$(touch oops)/y'z;%2F&.gguf", "y'z;%2F&.gguf"],
  ])('%s', (what, file) => {
    const [curl, ...words] = run(downloadLine(what, 'models') as string)
    expect(curl).toBe('curl')
    expect(words).toEqual(['-fL', '--create-dirs', '-o', `models/${file}`, new URL(what).href])
  })
})

test.each([
  'smollm2-135m',
  'a/b/c',
  'a/b:c/d',
  '../../x',
  'a/b; rm x',
  'a/b:$(x)',
  'https://example.org/',
  'ftp://a/b.gguf',
])('%s is no model of elsewhere', (what) => expect(downloadLine(what, 'models')).toBeUndefined())
