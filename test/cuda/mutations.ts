// Faults that the cases have to find on the interpreter, one per kind: a race, a value, a rule; and old ones of ours.

type Edit = readonly [from: string | RegExp, to: string]

/**
 * Of the .cu file to compile anew, one of whose files is changed; filter: of cuda-ops, the cases that have to find it, ''
 * where its cost in op-bench does.
 */
const of =
  (unit: string, file = unit, chip = 80) =>
  (name: string, filter: string, ...edits: Edit[]) => ({ unit, file, chip, name, filter, edits })

export type Mutation = ReturnType<ReturnType<typeof of>>

const attnMma = of('h2o-attn-mma.cu', 'h2o-attn-mma.cuh')
const votesMma = of('h2o-attn-mma.cu', 'h2o-votes-mma.cuh')
const top = of('h2o-select.cu', 'h2o-top.cuh')
const select = of('h2o-select.cu', 'h2o-select.cuh')
const attn = of('h2o-attn.cu')
const attnMmaCu = of('h2o-attn-mma.cu')
const kv = of('h2o-attn.cu', 'h2o-kv.cuh')
const attnArgs = of('h2o-attn-mma.cu', 'h2o-attn-args.cuh')
const attnPlain = of('h2o-attn-plain.cu', 'h2o-attn-plain.cuh')
const queryScore = of('h2o-query.cu', 'h2o-query-score.cuh')
const queryChoose = of('h2o-query.cu', 'h2o-query-choose.cuh')
const queryProduct = of('h2o-query.cu', 'h2o-query-product.cuh')
const queryProductMma = of('h2o-query.cu', 'h2o-query-product-mma.cuh')
const queryProductF32 = of('h2o-query.cu', 'h2o-query-product.cuh', 75)
const kvRead = of('h2o-query.cu', 'h2o-kv-read.cuh')
const tileLoad = of('h2o-query.cu', 'h2o-tile-load.cuh')

const ATTN = 'attn,.*= f16 f16 64 '
const QUERY = 'query,.*= f16 64 2 (870|3000) '

export const MUTATIONS: Mutation[] = [
  attnMma('missing-barrier', ATTN, ['__syncthreads(); // V is there, and nobody reads K any more', '']),
  votesMma('mask-off-by-one', ATTN, ['row + 0 >= first', 'row + 0 > first']),
  top('one-tie-too-many', 'select,.* ties', ['ties < n_ties', 'ties <= n_ties']),
  select('removed-members-as-candidates', 'select,', [
    'mem_pos[i] < min(t.n.mem_end, local_begin)',
    'mem_pos[i] < local_begin',
  ]),
  attn('all-heads-the-set-of-the-first', ATTN, ['set->nb[1]/sizeof(int32_t)', '0']),
  attnMmaCu('shared-memory-not-allowed', 'attn,.*= f16 f16 128 ', [
    'CUDA_SET_SHARED_MEMORY_LIMIT((h2o_attn_mma<D, is_of_head>), attn::size_smem());',
    '',
  ]),
  kv('vectors-from-anywhere', ATTN, ['&& (uintptr_t) t->data % 16 == 0;', ';']),
  attnArgs('all-blocks-the-set-of-the-first', ATTN, [' + chunk*args.set_stride_chunk', '']),
  attnPlain('keys-of-the-query-head', 'attn,.*= f32 f32 64 ', [
    'const h2o_kv_head v(args.v, head/args.n_per_kv,',
    'const h2o_kv_head v(args.v, head,',
  ]),
  attnArgs('keys-before-the-chunk-forgotten', ATTN, ['args.n_near + (row_end - 1)', '(row_end - 1)']),
  queryChoose('members-twice', QUERY, ['wanted[at] == page', 'wanted[at] < page']),
  queryScore('landmarks-in-local', QUERY, [
    'k.set[key] < args.p.n_cand ? h2o_order_key(best) : 0',
    'h2o_order_key(best)',
  ]),
  queryProduct('missing-barrier-of-slices', 'query,.*= f32 64 ', [
    '__syncthreads(); // nobody reads the last slices any more',
    '',
  ]),
  queryProductMma('barrier-of-products-gone', QUERY, ['__syncthreads(); // both tiles are there', '']),
  kvRead('fifth-bit-lost', 'query,.*= q5_0 ', ['(fifth >> i & 1) << 4', '0']),
  queryScore('need-without-count', QUERY, ['logf(args.p.n_near + part.query0 + tid + 1) - lse', '-lse']),
  // e0d54c8: a block of one dimension, whose threadIdx.x is no lane
  queryProductMma(
    'lane-of-ldmatrix',
    QUERY,
    ['dim3(WARP_SIZE, n_warps)', 'dim3(WARP_SIZE*n_warps)'],
    ['threadIdx.y*WARP_SIZE + threadIdx.x', 'threadIdx.x'],
    [/threadIdx\.y/g, 'threadIdx.x/WARP_SIZE'],
    ['i*8 + threadIdx.x/4', 'i*8 + threadIdx.x%WARP_SIZE/4'],
  ),
  // b409fbf: fmaxf gives the other one
  tileLoad('nan-becomes-a-number', 'query,.*= bf16 64 .* special', [
    'x == x ? fminf(fmaxf(x, -65504.0f), 65504.0f) : x',
    'fminf(fmaxf(x, -65504.0f), 65504.0f)',
  ]),
  // 3ea6568: a sector for every lane
  queryProductF32('reads-across-lanes', '', ['i/n_pieces', 'i%N'], ['i%n_pieces*8', 'i/N*8']),
]
