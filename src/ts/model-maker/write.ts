/** Writes GGUF files, of a model in memory or straight from a spec without ever holding the whole of it. */

import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { planModel } from './architectures/index.js'
import { ggufHead, paddingAfter } from './gguf.js'
import type { GgufModel } from './model.js'
import { type ModelSpec, resolveSpec } from './spec.js'
import { encodedRows } from './values.js'

/** Values drawn and rounded between two writes. */
const GROUP_SIZE = 1 << 20

/** Writes a model to `path`, the tensors' bytes as they are. */
export async function writeGguf(model: GgufModel, path: string): Promise<void> {
  const tensors = [...model.tensors.values()]
  await writeFile(path, function* () {
    yield ggufHead(model.metadata, tensors)
    for (const tensor of tensors) yield* padded([tensor.bytes])
  })
}

/** Makes the model of a spec and writes it to `path`: the same file as writeGguf(makeModel(spec), path). */
export async function writeModel(path: string, spec: ModelSpec): Promise<void> {
  const config = resolveSpec(spec)
  const { metadata, tensors } = planModel(config)
  await writeFile(path, function* () {
    yield ggufHead(metadata, tensors)
    for (const plan of tensors) yield* padded(encodedRows(plan, config, GROUP_SIZE))
  })
}

/** The pieces of one tensor, then the zeros that align what follows. */
function* padded(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let size = 0
  for (const piece of pieces) {
    size += piece.length
    yield piece
  }
  const padding = paddingAfter(size)
  if (padding > 0) yield new Uint8Array(padding)
}

/**
 * Writes under a temporary name first: `path` is a whole file or not there. One piece is written while the next is
 * made.
 */
async function writeFile(path: string, pieces: () => Iterable<Uint8Array>): Promise<void> {
  const partial = `${path}.${process.pid}.part`
  const file = await open(partial, 'w')
  try {
    let writing: Promise<void> = Promise.resolve()
    for (const piece of pieces()) {
      await writing
      writing = writeAll(file, piece)
      writing.catch(() => {}) // awaited above or below
    }
    await writing
    await file.close()
    await rename(partial, path)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(partial, { force: true })
    throw error
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done)
    done += bytesWritten
  }
}
