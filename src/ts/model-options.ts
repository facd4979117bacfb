/** Options of models: their types and checks. Native code gets nothing that was not here. */

import { invalidArgument } from './errors.js'
import type { NativeModelOptions, NativeOverride, NativeTensorPlace } from './native/surface.js'
import { namesOf, readOptions } from './read-options.js'
import { boolean, count, integer, not, number, oneOf, optionalFunction, optionalSignal } from './validate.js'
import type { H2oWarning } from './warnings.js'

export const loadModes = ['auto', 'none', 'mmap', 'mlock', 'mmap+mlock', 'dio'] as const
/** How the file is read: mapped, kept in memory (mlock), past the page cache (dio). */
export type LoadMode = (typeof loadModes)[number]

export const splitModes = ['none', 'layer', 'row', 'tensor'] as const
export type SplitMode = (typeof splitModes)[number]

export interface LoraOptions {
  /** A GGUF file made for this model. */
  path: string
  /** 1 */
  scale?: number | undefined
}

export interface TensorOverride {
  /** A regular expression that is found in the names of tensors. */
  pattern: string
  /** A buffer type: 'CPU', or that of a device, 'CUDA0'. */
  buffer: string
}

/** Metadata in place of the file's; a value of the file has to have the same type. */
export type KvOverride =
  | { key: string; type: 'int' | 'float'; value: number }
  | { key: string; type: 'bool'; value: boolean }
  | { key: string; type: 'str'; value: string }

export interface ModelOptions {
  /** A GGUF file; of a split model the first one. */
  path: string
  /** Layers on the GPU; llama.cpp's default without it. */
  nGpuLayers?: number | undefined
  /** 'auto': mapped, unless a device does not support it */
  loadMode?: LoadMode | undefined
  /** Names of devices to offload to, as listDevices() has them; []: none. All GPUs */
  devices?: readonly string[] | undefined
  /**
   * RPC servers, 'host:port', whose devices come before those of this machine. The connection is neither encrypted nor
   * authenticated. A build with GGML_RPC=ON has it.
   */
  rpc?: readonly string[] | undefined
  /** How the model is split among several devices: 'layer' */
  splitMode?: SplitMode | undefined
  /** The device of all, with splitMode 'none': 0 */
  mainGpu?: number | undefined
  /** Shares of the devices, [3, 1]: by free memory */
  tensorSplit?: readonly number[] | undefined
  /** Where single tensors go; the first pattern that is found in a name decides. */
  overrideTensors?: readonly TensorOverride[] | undefined
  /** Experts of MoE models stay on the CPU: of all layers, or of the first so many. false */
  cpuMoe?: boolean | number | undefined
  /** Feed-forward weights of the first so many layers stay on the CPU: 0 */
  cpuFfn?: number | undefined
  /** Adapters that every context of this model applies. */
  loras?: readonly LoraOptions[] | undefined
  overrideKv?: readonly KvOverride[] | undefined
  /** Called with the share that is loaded, 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined
  /** process.emitWarning, unless given. */
  onWarning?: ((warning: H2oWarning) => void) | undefined
  signal?: AbortSignal | undefined
}

const names = namesOf<ModelOptions>({
  path: true,
  nGpuLayers: true,
  loadMode: true,
  devices: true,
  rpc: true,
  splitMode: true,
  mainGpu: true,
  tensorSplit: true,
  overrideTensors: true,
  cpuMoe: true,
  cpuFfn: true,
  loras: true,
  overrideKv: true,
  onProgress: true,
  onWarning: true,
  signal: true,
})

export interface CheckedModelOptions {
  given: ModelOptions
  native: NativeModelOptions
}

export function checkModelOptions(options: string | ModelOptions): CheckedModelOptions {
  if (options === undefined) throw invalidArgument('no model is given: its path, or options with `path`')
  const given = typeof options === 'string' ? { path: options } : readOptions('loadModel', options, names)
  optionalFunction('onProgress', given.onProgress)
  optionalFunction('onWarning', given.onWarning)
  optionalSignal(given.signal)
  const { nGpuLayers } = given
  if (nGpuLayers !== undefined) count('nGpuLayers', nGpuLayers, 0, 2 ** 20)
  return {
    given,
    native: {
      path: checkPath('path', given.path),
      ...(nGpuLayers !== undefined && { nGpuLayers }),
      loadMode: oneOf('loadMode', given.loadMode, 'auto', loadModes),
      ...(given.devices !== undefined && { devices: list('devices', given.devices, checkName) }),
      rpc: list('rpc', given.rpc, checkServer),
      splitMode: oneOf('splitMode', given.splitMode, 'layer', splitModes),
      mainGpu: integer('mainGpu', given.mainGpu, 0, 0, 2 ** 31 - 1),
      tensorSplit: list('tensorSplit', given.tensorSplit, (share) => number('tensorSplit', share, 0, 0, 1e9)),
      overrideTensors: [
        ...list('overrideTensors', given.overrideTensors, checkPlace),
        ...onCpu(layersOf(given.cpuMoe), String.raw`\.ffn_(up|down|gate|gate_up)_(ch|)exps`),
        ...onCpu(integer('cpuFfn', given.cpuFfn, 0, 0, 2 ** 31 - 1), String.raw`\.ffn_(up|down|gate)\.`),
      ],
      loras: list('loras', given.loras, checkLora),
      overrideKv: checkOverrides(given.overrideKv),
    },
  }
}

function checkPath(name: string, path: unknown): string {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalidArgument(`${name} must be the path of a GGUF file${not(path)}`, { [name]: path })
  }
  return path
}

function checkName(name: unknown): string {
  if (typeof name !== 'string' || name === '') {
    throw invalidArgument(`devices must be names of devices${not(name)}`, { device: name })
  }
  return name
}

function checkServer(server: unknown): string {
  const port = typeof server === 'string' ? /^[^\s:]+:(\d{1,5})$/.exec(server)?.[1] : undefined
  if (port === undefined || Number(port) < 1 || Number(port) > 65535) {
    throw invalidArgument(`rpc must be servers as host:port${not(server)}`, { rpc: server })
  }
  return server as string
}

const maxListed = 1024

/** A copy, each item checked. */
function list<T, U>(name: string, given: readonly T[] | undefined, check: (item: T) => U): U[] {
  if (given === undefined) return []
  if (!Array.isArray(given) || given.length > maxListed) {
    throw invalidArgument(`${name} must be a list of at most ${maxListed}`, { [name]: given })
  }
  return Array.from(given, check)
}

function checkLora(given: LoraOptions): { path: string; scale: number } {
  const { path, scale } = readOptions('loras', given, namesOf<LoraOptions>({ path: true, scale: true }))
  return { path: checkPath('loras', path), scale: number('scale', scale, 1, -1e6, 1e6) }
}

const maxPattern = 1024
const maxRepeats = 1000

/** What no name of a tensor needs is refused: a pattern's size, and so the work, is what its counts multiply to. */
function checkPlace(given: TensorOverride): NativeTensorPlace {
  const names = namesOf<TensorOverride>({ pattern: true, buffer: true })
  const { pattern, buffer } = readOptions('overrideTensors', given, names)
  if (typeof pattern !== 'string' || pattern.length > maxPattern || !/^[\x20-\x7e]+$/.test(pattern)) {
    throw invalidArgument(`pattern must be a regular expression of at most ${maxPattern} ASCII characters`, {
      pattern,
    })
  }
  const counts = [...pattern.matchAll(/\{\s*(\d*)\s*,?\s*(\d*)/g)].map(([, least, most]) =>
    Math.max(1, Number(least), Number(most)),
  )
  if (counts.reduce((product, n) => product * n, 1) > maxRepeats) {
    throw invalidArgument(`pattern must not repeat anything more than ${maxRepeats} times`, { pattern })
  }
  if (typeof buffer !== 'string' || buffer === '') {
    throw invalidArgument(`buffer must be the name of a buffer type, say 'CPU'${not(buffer)}`, { buffer })
  }
  return { pattern, buffer }
}

/** llama.cpp has room for no more. */
const maxLayers = 512

function layersOf(cpuMoe: ModelOptions['cpuMoe']): number {
  if (typeof cpuMoe === 'number') return integer('cpuMoe', cpuMoe, 0, 0, 2 ** 31 - 1)
  return boolean('cpuMoe', cpuMoe, false) ? Number.POSITIVE_INFINITY : 0
}

/** Tensors of the first n layers that have `pattern` behind the layer's number. */
function onCpu(n: number, pattern: string): NativeTensorPlace[] {
  if (n === 0) return []
  const layers = Array.from({ length: Math.min(n, maxLayers) }, (_, layer) => layer)
  return [
    {
      pattern: n === Number.POSITIVE_INFINITY ? pattern : `blk\\.(${layers.join('|')})${pattern}`,
      buffer: 'CPU',
    },
  ]
}

const maxText = 127

function checkOverrides(given: readonly KvOverride[] | undefined): NativeOverride[] {
  const overrides = list('overrideKv', given, checkOverride)
  const twice = overrides.find(({ key }, i) => overrides.findIndex((other) => other.key === key) < i)
  if (twice) throw invalidArgument(`overrideKv has ${twice.key} twice`, { key: twice.key })
  return overrides
}

function checkOverride(given: KvOverride): NativeOverride {
  const names = namesOf<KvOverride>({ key: true, type: true, value: true })
  const { key, type, value } = readOptions('overrideKv', given, names)
  shortText('key', key)
  if (key === '') throw invalidArgument('key must not be empty', { key })
  if (key.startsWith('split.')) throw invalidArgument(`${key} says what is in the files`, { key })
  oneOf('type', type, 'int', ['int', 'float', 'bool', 'str'])
  if (type === 'int') count('value', value, -(2 ** 31), 2 ** 32 - 1)
  else if (type === 'float') number('value', value as number, 0, -3e38, 3e38)
  else if (type === 'bool') boolean('value', value, false)
  else if (type === 'str') shortText('value', value)
  if (type === undefined || value === undefined) {
    throw invalidArgument('overrideKv takes a key, a type and a value', { key, type, value })
  }
  return { key, type, value }
}

/** llama.cpp keeps it in so many bytes. */
function shortText(name: string, text: unknown): void {
  if (typeof text !== 'string' || Buffer.byteLength(text) > maxText || text.includes('\0')) {
    throw invalidArgument(`${name} must be a text of at most ${maxText} bytes`, { [name]: text })
  }
}

/** What was asked for and cannot matter: there is nothing to offload to. */
export function deviceWarnings({ given }: CheckedModelOptions, nDevices: number): H2oWarning[] {
  const names = (['splitMode', 'mainGpu', 'tensorSplit'] as const).filter((name) => given[name] !== undefined)
  if (nDevices > 0 || names.length === 0) return []
  const message = `there is no device to offload to: ${names.join(', ')} changes nothing`
  return [{ code: 'H2O_WARN_NO_DEVICE', message }]
}
