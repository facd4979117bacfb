// Faults that the cases have to find on the interpreter, one per kind: a race, a value, a rule; and old ones of ours.

export interface Mutation {
  name: string
  /** The .cu file to compile anew, and which of its files is changed. */
  unit: string
  file: string
  edits: readonly (readonly [from: string | RegExp, to: string])[]
  /** The head size that is enough, of the kernels of attention. */
  size?: number
  /** Arguments of the program. */
  args: readonly (string | number)[]
}

export const MUTATIONS: Mutation[] = [
  {
    name: 'missing-barrier',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-mma.cuh',
    edits: [['__syncthreads(); // V is there, and nobody reads K any more', '']],
    size: 64,
    args: ['mma', 30, 1],
  },
  {
    name: 'mask-off-by-one',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-votes-mma.cuh',
    edits: [['row + 0 >= first', 'row + 0 > first']],
    size: 64,
    args: ['mma', 30, 1],
  },
  {
    name: 'one-tie-too-many',
    unit: 'h2o-select.cu',
    file: 'h2o-top.cuh',
    edits: [['ties < n_ties', 'ties <= n_ties']],
    args: ['select', 10, 1],
  },
  {
    name: 'removed-members-as-candidates',
    unit: 'h2o-select.cu',
    file: 'h2o-select.cuh',
    edits: [['mem_pos[i] < min(t.n.mem_end, local_begin)', 'mem_pos[i] < local_begin']],
    args: ['select', 30, 1],
  },
  {
    name: 'all-heads-the-set-of-the-first',
    unit: 'h2o-attn.cu',
    file: 'h2o-attn.cu',
    edits: [['set->nb[1]/sizeof(int32_t)', '0']],
    size: 64,
    args: ['mma', 30, 1],
  },
  {
    name: 'shared-memory-not-allowed',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-mma.cu',
    edits: [['CUDA_SET_SHARED_MEMORY_LIMIT((h2o_attn_mma<D, is_of_head>), attn::size_smem());', '']],
    args: ['all', 12, 1],
  },
  {
    name: 'vectors-from-anywhere',
    unit: 'h2o-attn.cu',
    file: 'h2o-kv.cuh',
    edits: [['&& (uintptr_t) t->data % 16 == 0;', ';']],
    args: ['all', 100, 1],
  },
  {
    name: 'all-blocks-the-set-of-the-first',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-args.cuh',
    edits: [[' + chunk*args.set_stride_chunk', '']],
    size: 64,
    args: ['mma', 30, 1],
  },
  {
    name: 'keys-of-the-query-head',
    unit: 'h2o-attn-plain.cu',
    file: 'h2o-attn-plain.cuh',
    edits: [['const h2o_kv_head v(args.v, head/args.n_per_kv,', 'const h2o_kv_head v(args.v, head,']],
    args: ['all', 90, 1],
  },
  {
    name: 'keys-before-the-chunk-forgotten',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-args.cuh',
    edits: [['args.n_near + (row_end - 1)', '(row_end - 1)']],
    size: 64,
    args: ['mma', 30, 1],
  },
  {
    name: 'members-twice',
    unit: 'h2o-query.cu',
    file: 'h2o-query-score.cuh',
    edits: [['place < n_taken && taken[place] == pos ? 0 : ', '']],
    args: ['query', 24, 1],
  },
  {
    name: 'landmarks-in-local',
    unit: 'h2o-query.cu',
    file: 'h2o-query-score.cuh',
    edits: [['k.set[key] < args.p.n_cand ? h2o_order_key(best[i]) : 0', 'h2o_order_key(best[i])']],
    args: ['query', 12, 1],
  },
  {
    name: 'missing-barrier-of-slices',
    unit: 'h2o-query.cu',
    file: 'h2o-query-product.cuh',
    edits: [['__syncthreads(); // nobody reads the last slices any more', '']],
    args: ['query', 4, 1],
  },
  {
    name: 'barrier-of-products-gone',
    unit: 'h2o-query.cu',
    file: 'h2o-query-product-mma.cuh',
    edits: [['__syncthreads(); // both tiles are there', '']],
    args: ['query', 16, 1],
  },
  {
    name: 'fifth-bit-lost',
    unit: 'h2o-query.cu',
    file: 'h2o-kv-read.cuh',
    edits: [['(fifth >> i & 1) << 4', '0']],
    args: ['query', 8, 1],
  },
  {
    name: 'need-without-count',
    unit: 'h2o-query.cu',
    file: 'h2o-query-score.cuh',
    edits: [['logf(args.p.n_near + part.query0 + tid + 1) - lse', '-lse']],
    args: ['query', 12, 1],
  },
  {
    name: 'lane-of-ldmatrix', // e0d54c8: a block of one dimension, whose threadIdx.x is no lane
    unit: 'h2o-query.cu',
    file: 'h2o-query-product-mma.cuh',
    edits: [
      ['dim3(WARP_SIZE, n_warps)', 'dim3(WARP_SIZE*n_warps)'],
      ['threadIdx.y*WARP_SIZE + threadIdx.x', 'threadIdx.x'],
      [/threadIdx\.y/g, 'threadIdx.x/WARP_SIZE'],
      ['i*8 + threadIdx.x/4', 'i*8 + threadIdx.x%WARP_SIZE/4'],
    ],
    args: ['query', 16, 1],
  },
  {
    name: 'nan-becomes-a-number', // b409fbf: fmaxf gives the other one
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-tile-load.cuh',
    edits: [['x == x ? fminf(fmaxf(x, -65504.0f), 65504.0f) : x', 'fminf(fmaxf(x, -65504.0f), 65504.0f)']],
    size: 64,
    args: ['mma', 30, 1],
  },
]
