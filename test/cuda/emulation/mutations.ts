// Faults that the emulation has to find, one per kind: a race, a value, a rule.

export interface Mutation {
  name: string
  /** The .cu file to compile anew, and which of its files is changed. */
  unit: string
  file: string
  from: string
  to: string
  /** Arguments of the program. */
  args: readonly (string | number)[]
}

export const MUTATIONS: Mutation[] = [
  {
    name: 'missing-barrier',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-mma.cuh',
    from: '__syncthreads(); // V is there, and nobody reads K any more',
    to: '',
    args: ['mma', 30, 1],
  },
  {
    name: 'mask-off-by-one',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-votes-mma.cuh',
    from: 'row + 0 >= first',
    to: 'row + 0 > first',
    args: ['mma', 30, 1],
  },
  {
    name: 'one-tie-too-many',
    unit: 'h2o-select.cu',
    file: 'h2o-top.cuh',
    from: 'ties < n_ties',
    to: 'ties <= n_ties',
    args: ['select', 10, 1],
  },
  {
    name: 'removed-members-as-candidates',
    unit: 'h2o-select.cu',
    file: 'h2o-select.cuh',
    from: 'mem_pos[i] < min(t.n.mem_end, local_begin)',
    to: 'mem_pos[i] < local_begin',
    args: ['select', 30, 1],
  },
  {
    name: 'all-heads-the-set-of-the-first',
    unit: 'h2o-attn.cu',
    file: 'h2o-attn.cu',
    from: 'set->nb[1]/sizeof(int32_t)',
    to: '0',
    args: ['mma', 30, 1],
  },
  {
    name: 'shared-memory-not-allowed',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-mma.cu',
    from: 'CUDA_SET_SHARED_MEMORY_LIMIT((h2o_attn_mma<D, is_of_head>), attn::size_smem());',
    to: '',
    args: ['all', 5, 1],
  },
  {
    name: 'vectors-from-anywhere',
    unit: 'h2o-attn.cu',
    file: 'h2o-kv.cuh',
    from: '&& (uintptr_t) t->data % 16 == 0;',
    to: ';',
    args: ['all', 100, 1],
  },
  {
    name: 'all-blocks-the-set-of-the-first',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-args.cuh',
    from: ' + chunk*args.set_stride_chunk',
    to: '',
    args: ['mma', 30, 1],
  },
  {
    name: 'keys-of-the-query-head',
    unit: 'h2o-attn-plain.cu',
    file: 'h2o-attn-plain.cuh',
    from: 'const h2o_kv_head v(args.v, head/args.n_per_kv,',
    to: 'const h2o_kv_head v(args.v, head,',
    args: ['all', 90, 1],
  },
  {
    name: 'keys-before-the-chunk-forgotten',
    unit: 'h2o-attn-mma.cu',
    file: 'h2o-attn-args.cuh',
    from: 'args.n_near + (row_end - 1)',
    to: '(row_end - 1)',
    args: ['mma', 30, 1],
  },
  {
    name: 'members-twice',
    unit: 'h2o-query.cu',
    file: 'h2o-query-score.cuh',
    from: 'place < n_taken && taken[place] == pos ? 0 : ',
    to: '',
    args: ['query', 24, 1],
  },
  {
    name: 'landmarks-in-local',
    unit: 'h2o-query.cu',
    file: 'h2o-query-score.cuh',
    from: 'k.set[key] < args.p.n_cand ? h2o_order_key(best[i]) : 0',
    to: 'h2o_order_key(best[i])',
    args: ['query', 12, 1],
  },
  {
    name: 'missing-barrier-of-slices',
    unit: 'h2o-query.cu',
    file: 'h2o-query-product.cuh',
    from: '__syncthreads(); // nobody reads the last slices any more',
    to: '',
    args: ['query', 4, 1],
  },
  {
    name: 'barrier-of-products-gone',
    unit: 'h2o-query.cu',
    file: 'h2o-query-product-mma.cuh',
    from: '__syncthreads(); // both tiles are there',
    to: '',
    args: ['query', 16, 1],
  },
  {
    name: 'fifth-bit-lost',
    unit: 'h2o-query.cu',
    file: 'h2o-kv-read.cuh',
    from: '(fifth >> i & 1) << 4',
    to: '0',
    args: ['query', 8, 1],
  },
  {
    name: 'need-without-count',
    unit: 'h2o-query.cu',
    file: 'h2o-query-score.cuh',
    from: 'logf(args.p.n_near + part.query0 + tid + 1) - lse',
    to: '-lse',
    args: ['query', 12, 1],
  },
]
