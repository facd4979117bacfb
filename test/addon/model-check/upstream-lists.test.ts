// The rules of model-check name architectures where llama.cpp's own code treats them apart. The lists are read from the
// pin's sources here: another pin that brings, drops or changes an architecture fails, and says which.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../cli/support/spawn.js'

const source = (path: string) =>
  readFileSync(join(root, 'vendor/llama.cpp/src', path), 'utf8').replace(/\/\/.*$/gm, '')
const rules = (file: string) => readFileSync(join(root, 'src/native/addon/model-check', file), 'utf8')

const names = new Map(
  [...source('llama-arch.cpp').matchAll(/\{ (LLM_ARCH_\w+),\s+"([\w.-]+)"/g)].map(([, arch, name]) => [
    arch,
    name,
  ]),
)
const modelSource = source('llama-model.cpp')
const files = readdirSync(join(root, 'vendor/llama.cpp/src/models'))
  .filter((file) => file.endsWith('.cpp'))
  .map((file) => source(`models/${file}`))
const header = source('models/models.h')

/** `case A: case B: return X` of one function -> [name of the architecture, X]. */
function cases(pattern: RegExp): [string, string][] {
  const [body = ''] = pattern.exec(modelSource) ?? []
  const found: [string, string][] = []
  let labels: string[] = []
  for (const [, arch, result] of body.matchAll(/case (LLM_ARCH_\w+):|return ([^;]+);/g)) {
    if (arch)
      labels.push(...[names.get(arch) ?? []].flat()) // LLM_ARCH_UNKNOWN has no name
    else {
      found.push(...labels.map((name): [string, string] => [name, result as string]))
      labels = []
    }
  }
  return found
}

const mapping = cases(/llama_model_mapping\([\s\S]*?\n\}/)
const classes = new Map(mapping.map(([name, made]) => [name, /new (\w+)/.exec(made)?.[1] ?? '']))
const ropeTypes = cases(/^llama_rope_type llama_model_rope_type\([\s\S]*?^\}/m)

const fileOf = (type: string) => files.find((text) => text.includes(` ${type}::build_arch_graph(`)) ?? ''
const structOf = (type: string) =>
  new RegExp(`struct ${type} : public (\\w+) \\{[\\s\\S]*?\\n\\};`).exec(header)

/** All that a class is made of: its file, its base's, and the file of a graph that it takes from another. */
function textOf(type: string): string {
  const [body = '', base = 'llama_model_base'] = structOf(type) ?? []
  const graph = /using graph = (\w+)::graph/.exec(body)?.[1]
  return fileOf(type) + (base === 'llama_model_base' ? '' : textOf(base)) + (graph ? fileOf(graph) : '')
}

const texts = new Map([...classes].map(([name, type]) => [name, textOf(type)]))
const withText = (pattern: RegExp) =>
  [...texts].filter(([, text]) => pattern.test(text)).map(([name]) => name)

const equalHeads = withText(/GGML_ASSERT\(n_embd_head == (hparams\.)?n_embd_head_[kv]/)
const equalRope = withText(/GGML_ASSERT\(n_embd_head == n_rot/)

/** A list of names in a rule's table. */
function listed(file: string, list: string): string[] {
  const [, body = ''] = new RegExp(`\\b${list}\\[\\] = \\{([^}]*)\\}`).exec(rules(file)) ?? []
  return [...body.matchAll(/"([^"]+)"/g)].map(([, name]) => name as string)
}

// Their graphs assert, too, and the net catches it: the rule would be wrong about matrices that have other sizes there
const encoders = [
  ...[
    'bert',
    'eurobert',
    'jina-bert-v2',
    'jina-bert-v3',
    'modern-bert',
    'neo-bert',
    'nomic-bert',
    'nomic-bert-moe',
  ],
  ...['t5', 't5encoder'],
]
const drafts = ['dflash', 'eagle3']
const severalSizes = ['deepseek4', 'gemma4', 'maple', 'qwen4exp']
const hybrids = [
  'granitehybrid',
  'minimax-01',
  'nemotron_h',
  'nemotron_h_moe',
  'qwen35',
  'qwen35moe',
  'qwen3next',
]
const byTheNet = [...encoders, ...drafts, ...severalSizes, ...hybrids]

// no heads that rope could turn
const headless = ['arwkv7', 'clip', 'mamba', 'mamba2', 'rwkv6', 'rwkv6qwen2', 'rwkv7', 'wavtokenizer-dec']
// rope, but not in each of their graphs
const someRope = ['bailingmoe3', 'bert', 'starcoder']
// several positions, where its file has sections
const someSections = ['dflash']

const without = (from: string[], less: string[]) => from.filter((name) => !less.includes(name)).sort()

describe("llama.cpp's sources", () => {
  it('were read as a whole', () => {
    expect(classes.size).toBe(modelSource.match(/new llama_model_\w+\(params\)/g)?.length)
    expect([...texts].filter(([, text]) => text === '')).toEqual([])
    expect(ropeTypes.length).toBeGreaterThanOrEqual(classes.size)
  })

  it.each([
    ['rules-attention.cpp', 'equal_heads', without(equalHeads, [...equalRope, ...byTheNet])],
    ['rules-attention.cpp', 'equal_heads_and_rope', without(equalRope, byTheNet)],
    ['rules-missing.cpp', 'drafters', withText(/\bmtp_only\b/).sort()],
    [
      'rules-rope.cpp',
      'no_rope',
      [
        ...without(
          ropeTypes.filter(([, type]) => type === 'LLAMA_ROPE_TYPE_NONE').map(([name]) => name),
          headless,
        ),
        ...someRope,
      ].sort(),
    ],
    [
      'rules-rope.cpp',
      'many_positions',
      without(
        ropeTypes.filter(([, type]) => /^LLAMA_ROPE_TYPE_I?MROPE$/.test(type)).map(([name]) => name),
        someSections,
      ),
    ],
  ])('%s: %s', (file, list, expected) => {
    expect(listed(file, list).toSorted()).toEqual(expected)
  })

  it('know every architecture that a rule names', () => {
    const known = new Set(names.values())
    const rows = ['rules-numbers.cpp', 'rules-missing.cpp'].flatMap((file) =>
      [...rules(file).matchAll(/^ {4}\{ "([^"]+)",/gm)].map(([, name]) => name as string),
    )
    expect(rows.length).toBeGreaterThan(40)
    expect(rows.filter((name) => !known.has(name) && !/block_count$|predict_layers$/.test(name))).toEqual([])
    expect(
      [...byTheNet, ...headless, ...someRope, ...someSections].filter((name) => !known.has(name)),
    ).toEqual([])
  })
})
