// The flags that say what a model is loaded with and where it goes, and the options of the API that they become.
import type { KvOverride, LoadMode, ModelOptions, TensorOverride } from '../../index.js'
import {
  devices,
  kvOverrides,
  loras,
  rpcServers,
  scaledLoras,
  shares,
  tensorOverrides,
} from './model-parsers.js'
import { type FlagsOf, type OptionSpec, optionsOf } from './option.js'
import { gpuLayers, integer, oneOf } from './parsers.js'

const flat = <T>(lists: T[][]): T[] => lists.flat()

const group = 'Model and devices:'

// biome-ignore format: a table
export const modelFlagOptions = [
  { group, names: ['-ngl', '--gpu-layers', '--n-gpu-layers'], value: 'N', env: 'LLAMA_ARG_N_GPU_LAYERS',
    parse: gpuLayers, default: 'auto', help: 'layers on the GPU: a number, auto or all' },
  { group, names: ['-dev', '--device'], to: 'devices', value: 'NAMES', env: 'LLAMA_ARG_DEVICE', parse: devices,
    help: 'devices to offload to, with commas between; none: the CPU alone' },
  { group, names: ['--rpc'], to: 'rpc', value: 'HOST:PORT,...', env: 'LLAMA_ARG_RPC', parse: rpcServers,
    help: 'RPC servers, whose devices come before those of this machine' },
  { group, names: ['-sm', '--split-mode'], to: 'splitMode', value: 'NAME', env: 'LLAMA_ARG_SPLIT_MODE', parse: oneOf('none', 'layer', 'row', 'tensor'),
    help: 'how several devices share the model: none, layer, row or tensor (default: layer)' },
  { group, names: ['-ts', '--tensor-split'], to: 'tensorSplit', value: 'N,N,...', env: 'LLAMA_ARG_TENSOR_SPLIT', parse: shares, help: 'share of each device, as 3,1' },
  { group, names: ['-mg', '--main-gpu'], to: 'mainGpu', value: 'N', env: 'LLAMA_ARG_MAIN_GPU', parse: integer(0), help: 'the device, with -sm none (default: 0)' },
  { group, names: ['-ot', '--override-tensor'], to: 'overrideTensors', map: flat<TensorOverride>, value: 'PATTERN=BUFFER,...', env: 'LLAMA_ARG_OVERRIDE_TENSOR', several: true, parse: tensorOverrides,
    help: 'where tensors go whose names hold the pattern: CPU, CUDA0' },
  { group, names: ['-cmoe', '--cpu-moe'], to: 'cpuMoe', env: 'LLAMA_ARG_CPU_MOE', help: 'experts stay on the CPU' },
  { group, names: ['-ncmoe', '--n-cpu-moe'], to: 'cpuMoe', value: 'N', env: 'LLAMA_ARG_N_CPU_MOE', parse: integer(0), help: 'the same for the first N layers' },
  { group, names: ['-ncffn', '--n-cpu-ffn'], to: 'cpuFfn', value: 'N', env: 'LLAMA_ARG_N_CPU_FFN', parse: integer(0),
    help: 'feed-forward weights of the first N layers stay on the CPU' },
  { group, names: ['-lm', '--load-mode'], to: 'loadMode', value: 'MODE', env: 'LLAMA_ARG_LOAD_MODE', parse: oneOf('auto', 'none', 'mmap', 'mlock', 'mmap+mlock', 'dio'),
    help: 'how the file is read: auto, none, mmap, mlock, mmap+mlock, dio (default: auto)' },
  { group, names: ['--mlock'], help: '-lm mmap+mlock, or with --no-mmap -lm mlock' },
  { group, names: ['--no-mmap'], help: '-lm none' },
  { group, names: ['--lora'], value: 'FILE,...', several: true, parse: loras, help: 'LoRA adapters' },
  { group, names: ['--lora-scaled'], value: 'FILE:SCALE,...', several: true, parse: scaledLoras, help: 'LoRA adapters with a scale' },
  { group, names: ['--override-kv'], to: 'overrideKv', map: flat<KvOverride>, value: 'KEY=TYPE:VALUE,...', several: true, parse: kvOverrides,
    help: "metadata in place of the file's; types: int, float, bool, str" },
] as const satisfies readonly OptionSpec[]

export type ModelFlags = FlagsOf<typeof modelFlagOptions>

export function modelOptions(flags: ModelFlags & { model: string }): ModelOptions {
  const adapters = [...(flags.lora ?? []), ...(flags.loraScaled ?? [])].flat()
  return {
    path: flags.model,
    loadMode: olderLoadMode(flags),
    ...layers(flags.gpuLayers),
    ...optionsOf(modelFlagOptions, flags),
    ...(adapters.length > 0 && { loras: adapters }),
  }
}

/** --mlock and --no-mmap are what -lm was before. */
function olderLoadMode({ mlock = false, mmap }: ModelFlags): LoadMode {
  if (mlock) return mmap ? 'mmap+mlock' : 'mlock'
  return mmap ? 'auto' : 'none'
}

// llama.cpp takes a count above the model's for all of them
const MANY_LAYERS = 9999

export function layers(gpuLayers: ModelFlags['gpuLayers']): Pick<ModelOptions, 'nGpuLayers'> {
  if (gpuLayers === 'auto') return {}
  return { nGpuLayers: gpuLayers === 'all' ? MANY_LAYERS : gpuLayers }
}
