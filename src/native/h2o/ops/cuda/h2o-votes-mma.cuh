// The second visit on tensor cores: column sums of exp(s - lse). It multiplies q with the keys once more, one product
// on top of the two of the first visit, and in exchange no logit is ever written and no sum depends on the order of
// blocks. It would be free only where all keys are one tile, so that the first visit knows lse while it holds the
// logits: no chunk and no memory set is that small.
//
// Transposed: keys are the rows here. A block of four warps holds its keys in registers and walks over the rows of q.

#pragma once

#include "h2o-attn-mma.cuh"

template <int D>
struct h2o_votes_shape {
    typedef h2o_tile_rows<D> rows;

    static constexpr int n_warps   = 4;
    static constexpr int n_threads = n_warps*WARP_SIZE;
    static constexpr int n_m       = D <= 128 ? 2 : 1; // tiles of 16 keys per warp
    static constexpr int n_keys    = n_warps*n_m*16;
    static constexpr int n_rows    = 64;               // of q at a time, two such tiles in flight

    static constexpr size_t size_smem() {
        return 2*n_rows*(rows::stride*sizeof(half2) + sizeof(float));
    }
};

// grid: (KV heads, chunks, tiles of keys x splits of the rows); block: (32, 4)
template <int D>
static __global__ void __launch_bounds__(h2o_votes_shape<D>::n_threads, 2) h2o_votes_mma(const h2o_attn_args args) {
#ifdef AMPERE_MMA_AVAILABLE
    using namespace ggml_cuda_mma;
    using shape    = h2o_votes_shape<D>;
    using operands = h2o_operands<typename shape::rows>;

    constexpr int stride = shape::rows::stride;

    static_assert(shape::n_keys <= 2*shape::n_rows, "the keys pass through the tiles of q");

    extern __shared__ uint4 h2o_smem[];
    half2 * tiles_q = (half2 *) h2o_smem;
    float * lses    = (float *) (tiles_q + 2*shape::n_rows*stride);

    const int lane  = threadIdx.x;
    const int warp  = threadIdx.y;
    const int tid   = warp*WARP_SIZE + lane;
    const int head  = blockIdx.x;
    const int chunk = blockIdx.y;
    const int split = blockIdx.z % args.n_split;
    const int key0  = blockIdx.z / args.n_split * shape::n_keys;

    const int64_t ih = (int64_t) chunk*args.n_head + head;

    const h2o_kv_head k(args.k, head, chunk, h2o_set_at(args, head, chunk));

    h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tiles_q, args.k, k, key0, args.n_keys, tid);
    cp_async_wait_all();
    __syncthreads();

    const auto operands_k = operands::a(tiles_q + warp*shape::n_m*16*stride);

    h2o_tile_ab a[shape::n_m][D/16];

#pragma unroll
    for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
        for (int d = 0; d < D/16; ++d) {
            h2o_load_a(a[im][d], operands_k.at(im*16, d));
        }
    }
    __syncthreads();

    // this block's share of the rows that see a key of the tile
    const int row_first = h2o_first_row(args, key0);
    const int n_share   = ((args.n_rows - row_first + args.n_split - 1)/args.n_split + shape::n_rows - 1)/shape::n_rows*shape::n_rows;
    const int row_begin = row_first + split*n_share;
    const int row_end   = min(args.n_rows, row_begin + n_share);
    const int row_all   = h2o_first_row(args, min(args.n_keys, key0 + shape::n_keys) - 1); // from here on every key is seen

    const half * q = args.q_scaled + ih*args.n_rows*D;

    const h2o_rows rows(args, nullptr, head, chunk);

    const auto load = [&](int row0) {
        const int i = (row0 - row_begin)/shape::n_rows % 2;

        h2o_load_tile_halves<typename shape::rows, shape::n_rows, shape::n_threads>(
                tiles_q + i*shape::n_rows*stride, q + (int64_t) row0*D, row_end - row0, tid);

        if (tid < shape::n_rows) {
            lses[i*shape::n_rows + tid] = row0 + tid < row_end ? args.lse[rows.at(row0 + tid)]*H2O_LOG2E : INFINITY; // no weight
        }
    };

    float sum[shape::n_m][2] = {};

    if (row_begin < row_end) {
        load(row_begin);
    }

    for (int row0 = row_begin; row0 < row_end; row0 += shape::n_rows) {
        cp_async_wait_all();
        __syncthreads(); // this tile is there, and nobody reads the other one any more

        if (row0 + shape::n_rows < row_end) {
            load(row0 + shape::n_rows);
        }

        const int     i_tile = (row0 - row_begin)/shape::n_rows % 2;
        const half2 * tile_q = tiles_q + i_tile*shape::n_rows*stride;
        const float * tile_l = lses    + i_tile*shape::n_rows;

        const auto operands_q = operands::b(tile_q);

        h2o_tile_c s[shape::n_m][shape::n_rows/16];

#pragma unroll
        for (int d = 0; d < D/16; ++d) {
#pragma unroll
            for (int n = 0; n < shape::n_rows/16; ++n) {
                h2o_tile_ab b;
                h2o_load_b(b, operands_q.at(n*16, d));
#pragma unroll
                for (int im = 0; im < shape::n_m; ++im) {
                    mma(s[im][n], a[im][d], b);
                }
            }
        }

        const bool is_partial = row0 < row_all;

#pragma unroll
        for (int n = 0; n < shape::n_rows/16; ++n) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int    row = n*16 + j*8 + lane%4*2;
                const float2 l   = *(const float2 *) (tile_l + row);
#pragma unroll
                for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        float w0 = exp2f(s[im][n].x[4*j + 2*i + 0] - l.x);
                        float w1 = exp2f(s[im][n].x[4*j + 2*i + 1] - l.y);

                        if (is_partial) {
                            const int first = h2o_first_row(args, key0 + (warp*shape::n_m + im)*16 + i*8 + lane/4) - row0;

                            w0 = row + 0 >= first ? w0 : 0.0f;
                            w1 = row + 1 >= first ? w1 : 0.0f;
                        }
                        sum[im][i] += w0 + w1;
                    }
                }
            }
        }
    }

    float * votes = args.votes_split ? args.votes_split + split*(int64_t) args.n_chunks*args.n_head*args.n_keys : args.votes;

#pragma unroll
    for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int   key = key0 + (warp*shape::n_m + im)*16 + i*8 + lane/4;
            const float x   = h2o_lanes_sum<4>(sum[im][i]);

            if (lane%4 == 0 && key < args.n_keys) {
                votes[ih*args.n_keys + key] = x;
            }
        }
    }
#else
    GGML_UNUSED(args);
    NO_DEVICE_CODE;
#endif // AMPERE_MMA_AVAILABLE
}
