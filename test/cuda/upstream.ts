// What is compiled of ggml-cuda for the small model: the files whose kernels it launches, and of their kernels those for its
// types and sizes alone. All of it would take an hour. A call of another one ends the program: by the loader, with the
// function's name, or where a switch has no such case.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { edit } from './edit.js'

const FILES =
  'ggml-cuda binbcast concat convert cpy fattn fwht getrows mmf mmq mmvf mmvq norm quantize rope scale set set-rows unary'
const INSTANCES =
  'fattn-mma-f16-instance-ncols1_32-ncols2_2 fattn-vec-instance-f16-f16 fattn-vec-instance-q8_0-q8_0 mmq-instance-q8_0'

/** Of ggml-cuda. */
export const UPSTREAM = [
  ...FILES.split(' '),
  ...INSTANCES.split(' ').map((name) => `template-instances/${name}`),
].map((name) => `${name}.cu`)

/** Of caches that attention of one token has a kernel for, as ggml's common.cmake says it. */
const TYPES = 'Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 BF16 F16'.split(' ')
export const FATTN_TYPES = TYPES.flatMap((k) =>
  TYPES.map((v) => `-DGGML_CUDA_FA_${k}_${v}=${Number(k === v && /^(F16|Q8_0)$/.test(k))}`),
)

/** Of which file the cases of a switch go that call this, but for those named. */
const CASES: [file: string, calls: string, kept: RegExp][] = [
  ['mmq.cuh', 'launch_mul_mat_q<', /^(64|96|112|128)$/], // tokens: a chunk, three, three and one, more
  ['mmvq.cu', 'mul_mat_vec_q_switch_ncols_dst<', /^GGML_TYPE_Q8_0$/],
  ['mmvq.cu', 'mul_mat_vec_q_switch_fusion<', /^1$/],
  ['mmvf.cu', 'mul_mat_vec_f_cuda', /^$/],
]

/** Lines that go. */
const LINES: [file: string, line: RegExp][] = [
  ...UPSTREAM.filter((file) => file.includes('fattn-')).map((file): [string, RegExp] => [
    file,
    /^DECL_\w+\( *(?!64,)\d+,.*\n/gm,
  ]),
  ['fattn.cu', /^ +FATTN_VEC_CASE\((128|256),.*\n/gm],
]

/** With the case's name as the second group. */
const CASE = /^( +)case +(\w+):( \{\n(?:.*\n)*?\1\} break;|\n(?:\1 .*\n)*?\1 +break;)\n/gm

/** Makes a copy of ggml-cuda with no more than that. */
export function thin(source: string, folder: string) {
  cpSync(source, folder, { recursive: true })
  for (const [file, calls, kept] of CASES)
    edit(join(folder, file), CASE, (all, _, name) => (all.includes(calls) && !kept.test(name) ? '' : all))
  for (const [file, line] of LINES) edit(join(folder, file), line, () => '')
}
