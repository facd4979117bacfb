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
const attnPlainArgs = of('h2o-attn-plain.cu', 'h2o-attn-args.cuh')
const estimate = of('h2o-estimate.cu', 'h2o-estimate.cuh')
const estimateMma = of('h2o-estimate.cu', 'h2o-attn-mma.cuh')
const estimatePlain = of('h2o-estimate.cu', 'h2o-estimate.cuh', 75)
const estimateArgs = of('h2o-estimate.cu', 'h2o-attn-args.cuh')
const order = of('h2o-order.cu', 'h2o-order.cuh')
const queryArgs = of('h2o-query.cu', 'h2o-query-args.cuh')
const querySums = of('h2o-query.cu', 'h2o-query-sums.cuh')
const querySearch = of('h2o-query.cu', 'h2o-query-search.cuh')
const queryProduct = of('h2o-query.cu', 'h2o-query-product.cuh')
const queryProductMma = of('h2o-query.cu', 'h2o-query-product-mma.cuh')
const queryProductF32 = of('h2o-query.cu', 'h2o-query-product.cuh', 75)
const kvRead = of('h2o-query.cu', 'h2o-kv-read.cuh')
const tileLoad = of('h2o-query.cu', 'h2o-tile-load.cuh')

const ATTN = 'attn,.*= f16 f16 64 '
const ORDER = 'order,.*= 64 3 (129|300) '
const ESTIMATE = 'estimate,.*= 64 64 (1 1 66|[23] .*(1000|1500|900)) '
const QUERY = 'query,.*= f16 64 2 (870|3070|3100) '

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
  attnArgs('all-blocks-the-set-of-the-first', ATTN, [
    'args.set + head*args.set_stride + chunk*args.set_stride_chunk',
    'args.set + head*args.set_stride',
  ]),
  attnPlain('keys-of-the-query-head', 'attn,.*= f32 f32 64 ', [
    'const h2o_kv_head v(args.v, head/args.n_per_kv,',
    'const h2o_kv_head v(args.v, head,',
  ]),
  attnArgs('keys-before-the-chunk-forgotten', ATTN, ['args.n_near + (row_end - 1)', '(row_end - 1)']),
  attnArgs('rows-of-neighbours', ATTN, ['order ? order[row] : row/n_group', 'row/n_group']),
  attnPlainArgs('order-of-the-first-head', 'attn,.*= f32 f32 64 ', [
    'order + (int64_t) head*args.n_rows_all',
    'order',
  ]),
  estimate('estimate-of-the-first-page', ESTIMATE, ['0 < page && ', '']),
  estimate('last-members-again-and-again', ESTIMATE, [
    'h2o_lower_bound(set, args.n_set - 1, set[args.n_set - 1]) + 1',
    'args.n_set',
  ]),
  estimate('members-too-early', ESTIMATE, [
    '__syncthreads(); // the members are known, and nobody reads the last counts any more',
    '',
  ]),
  estimateMma('shares-of-the-page-before', ESTIMATE, [
    'log_left[n*16 + j/4*8 + j%2]',
    'log_left[n*16 + j/4*8]',
  ]),
  estimateArgs('state-lost-where-nothing-is-left', ESTIMATE, [
    'args.o[at] = args.o_prev[at]',
    'args.o[at] = 0.0f',
  ]),
  estimatePlain('weights-too-early', ESTIMATE, [
    '__syncthreads(); // weights are there, and nobody reads keys or the last values any more',
    '',
  ]),
  order('rounded-towards-zero', ORDER, ['(1 << (shift - 1)) - 1 + ', '0 + ']),
  order('infinities-as-numbers', 'order,.* special', ['(bits & 0x7fffffff) < 0x7f800000', 'true']),
  order('largest-too-early', ORDER, ['] = most;\n    }\n    __syncthreads();', '] = most;\n    }']),
  order('directions-from-zero', ORDER, ['[widest.channel] - widest.mean', '[widest.channel]']),
  order('last-of-the-widest', 'order,.* ties', ['other < place', 'other > place']),
  order('sums-overwritten', ORDER, ['__syncthreads(); // nobody reads the sums any more', '']),
  queryArgs('blocks-of-neighbours', QUERY, [
    'args.order ? args.order[(int64_t) head*args.n_queries + query0 + i] : query0 + i',
    'query0 + i',
  ]),
  querySums('means-as-single-keys', QUERY, ['log_weight = 4.1588830833596715f', 'log_weight = 0.0f']),
  querySums('first-page-twice', QUERY, ['= 1 + i*P::n_x', '= i*P::n_x']),
  querySums('nan-is-counted', 'query,.*= f16 64 .* special', ['&& s == s ?', '?']),
  querySums('queries-behind-the-last', QUERY, [
    'query < part.n ? -h2o_log_of(max, sum) : -INFINITY',
    '-h2o_log_of(max, sum)',
  ]),
  querySearch('a-member-too-many', QUERY, ['args.n_set - 1)', 'args.n_set)']),
  querySearch(
    'unwanted-members',
    QUERY,
    ['n == n_wanted', 'false'],
    ['min(n_wanted, ', 'min(args.p.n_cand - 1, '],
  ),
  queryProduct('missing-barrier-of-slices', 'query,.*= f32 64 ', [
    '__syncthreads(); // nobody reads the last slices any more',
    '',
  ]),
  queryProductMma('barrier-of-products-gone', QUERY, ['__syncthreads(); // both tiles are there', '']),
  kvRead('fifth-bit-lost', 'query,.*= q5_0 ', ['(fifth >> i & 1) << 4', '0']),
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
