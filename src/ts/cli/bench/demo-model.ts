// The model of `bench` without -m and of `npm run demo`: Qwen3-0.6B's layer shape with random weights and fewer layers.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { presets, writeModel } from '../../model-maker/index.js'
import { packageRoot } from '../../native/binding.js'

/** Its path, in the models/ folder of the package. Made on first use; it stays for the next run. */
export async function demoModel(layers: number, say: (line: string) => void): Promise<string> {
  const folder = join(packageRoot(), 'models')
  const path = join(folder, `demo-qwen3-${layers}-layers-q8_0.gguf`)
  if (!existsSync(path)) {
    await mkdir(folder, { recursive: true })
    say(`making ${path} ...`)
    const name = `Qwen3-0.6B shape, ${layers} layers`
    await writeModel(path, { ...presets['qwen3-0.6b'], layers, vocab: 1024, name })
  }
  return path
}
