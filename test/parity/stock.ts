// What the unpatched pin says, built beside the patched one with the same flags (npm run build:stock).

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { KvType, LoraOptions } from '../../src/ts/index.js'

export interface StockSettings {
  nBatch: number
  nUbatch: number
  nThreads: number
  flashAttn: 'on' | 'off'
  type: KvType
  lora?: LoraOptions
  /** So many positions are removed when so many tokens are decoded. */
  cut?: { at: number; count: number }
}

/** Runs a program of build-stock/bin. Rejects with what it wrote to stderr if it fails. */
export async function runStock(name: string, args: readonly string[]): Promise<void> {
  const program = fileURLToPath(new URL(`../../build-stock/bin/${name}`, import.meta.url))
  await promisify(execFile)(program, args)
}

/** Logits of all tokens by stock llama.cpp, in calls of nBatch tokens. */
export async function stockLogits(
  model: string,
  tokens: readonly number[],
  { nBatch, nUbatch, nThreads, flashAttn, type, lora, cut }: StockSettings,
): Promise<Float32Array> {
  const input = `${model}.tokens`
  const output = `${model}.logits`
  writeFileSync(input, Int32Array.from(tokens))
  const sizes = ['-c', '1024', '-b', String(nBatch), '-ub', String(nUbatch), '-t', String(nThreads)]
  const types = ['-fa', flashAttn, '-ctk', type, '-ctv', type]
  const adapter = lora ? ['--lora', lora.path, '--lora-scale', String(lora.scale ?? 1)] : []
  const removed = cut ? ['--cut', String(cut.at), String(cut.count)] : []
  await runStock('stock-logits', [model, input, output, ...sizes, ...types, ...adapter, ...removed, '--all'])
  const bytes = readFileSync(output)
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}
