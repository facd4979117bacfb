#!/usr/bin/env node
// What Biome does not read: Python by ruff, and the parts of llama.cpp's C++ style that a line shows by itself. Layout
// is not checked: clang-format cannot keep columns that are aligned by hand (docs/decisions.md).

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PositionEncoding, Workspace } from '@astral-sh/ruff-wasm-nodejs'
import { Failure, main } from './lib/fail.mjs'
import { PROJECT_ROOT } from './lib/layout.mjs'

// defects, what is unused, names that are not there
const RUFF = { 'line-length': 120, 'target-version': 'py311', lint: { select: ['E4', 'E7', 'E9', 'F', 'W'] } }

const ENDS_OF_LINES = [
  [/\t/, 'a tab'],
  [/[ \r]$/, 'a blank or a carriage return at the end'],
]
const POINTERS = [
  [
    /\b(?:void|char|float|double|int|u?int\d+_t|size_t|ggml_\w+|llama_\w+)(?: const)?(?:\*+ ?| \*+)(?=[a-z_])(?!\*)/,
    'a pointer that is not "type * name"',
  ],
]

const files = (...patterns) =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: PROJECT_ROOT, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)

function lintNative(path, text) {
  const found = text.endsWith('\n') ? [] : [`${path}: no newline at its end`]
  for (const [i, line] of text.split('\n').entries()) {
    const code = line.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\/\/.*|^\s*\*.*|\/\*.*/, '')
    const rules = [
      ...ENDS_OF_LINES.map((rule) => [line, ...rule]),
      ...POINTERS.map((rule) => [code, ...rule]),
    ]
    for (const [where, rule, what] of rules) if (rule.test(where)) found.push(`${path}:${i + 1}: ${what}`)
  }
  return found
}

const ruff = new Workspace(RUFF, PositionEncoding.Utf16)

function lintPython(path, text) {
  return ruff
    .check(text)
    .map(
      ({ code, message, start_location: at }) =>
        `${path}:${at.row}:${at.column}: ${code ?? 'syntax'} ${message}`,
    )
}

await main(() => {
  const read = (path) => readFileSync(join(PROJECT_ROOT, path), 'utf8')
  const native = files('*.cpp', '*.h', '*.cu', '*.cuh', ':!vendor')
  const python = files('*.py')
  const found = [
    ...native.flatMap((path) => lintNative(path, read(path))),
    ...python.flatMap((path) => lintPython(path, read(path))),
  ]
  if (found.length > 0) throw new Failure(found.join('\n'))
  console.log(`Checked ${native.length} C++ and ${python.length} Python files.`)
})
