// Both visits without tensor cores, all in F32: for F32 caches on any chip, and for chips before Ampere. Same structure
// as h2o-attn-mma.cuh and h2o-votes-mma.cuh, with the logits of a tile passing through shared memory.

#pragma once

#include "h2o-attn-args.cuh"
#include "h2o-kv-read.cuh"
#include "h2o-lanes.cuh"

template <int D>
struct h2o_plain_shape {
    static constexpr int n_x       = 16; // threads along the keys, and along the channels
    static constexpr int n_y       = 8;  // threads along the rows
    static constexpr int n_threads = n_x*n_y;
    static constexpr int n_rows    = D <= 128 ? 32 : 16;
    static constexpr int n_keys    = D <= 128 ? 32 : 16;

    static constexpr int stride    = D + 1; // odd: neighbouring rows lie in different banks

    // of one thread: rows y, y + 8, ..., keys x, x + 16, ..., channels x, x + 16, ...
    static constexpr int rows_of_thread = n_rows/n_y;
    static constexpr int keys_of_thread = n_keys/n_x;
};

template <int D>
static __device__ __forceinline__ void h2o_load_plain_kv(
        float * tile, const h2o_kv & kv, const h2o_kv_head & head, int key0, int n_keys, int tid) {
    using shape = h2o_plain_shape<D>;

    for (int i = tid; i < shape::n_keys*(D/8); i += shape::n_threads) {
        const int row   = kv.is_trans ? i%shape::n_keys : i/(D/8);
        const int piece = kv.is_trans ? i/shape::n_keys : i%(D/8);

        float x[8] = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };

        if (key0 + row < n_keys) {
            h2o_read_8(kv, head, key0 + row, piece*8, x);
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            tile[row*shape::stride + piece*8 + j] = x[j];
        }
    }
}

template <int D>
static __device__ __forceinline__ void h2o_load_plain_q(
        float * tile, const float * q, const h2o_rows & rows, float scale, int row0, int n_rows, int tid) {
    using shape = h2o_plain_shape<D>;

    for (int row = tid/shape::n_x; row < shape::n_rows; row += shape::n_y) {
        const float * src = row < n_rows ? q + rows.at(row0 + row)*D : nullptr;

        for (int i = tid%shape::n_x; i < D; i += shape::n_x) {
            tile[row*shape::stride + i] = src ? src[i]*scale : 0.0f;
        }
    }
}

template <int D>
static __device__ __forceinline__ void h2o_plain_logits(
        float (&s)[h2o_plain_shape<D>::rows_of_thread][h2o_plain_shape<D>::keys_of_thread],
        const float * tile_q, const float * tile_k, int x, int y) {
    using shape = h2o_plain_shape<D>;

#pragma unroll
    for (int i = 0; i < shape::rows_of_thread; ++i) {
#pragma unroll
        for (int j = 0; j < shape::keys_of_thread; ++j) {
            s[i][j] = 0.0f;
        }
    }

#pragma unroll 4
    for (int d = 0; d < D; ++d) {
#pragma unroll
        for (int i = 0; i < shape::rows_of_thread; ++i) {
#pragma unroll
            for (int j = 0; j < shape::keys_of_thread; ++j) {
                s[i][j] += tile_q[(y + i*shape::n_y)*shape::stride + d]*tile_k[(x + j*shape::n_x)*shape::stride + d];
            }
        }
    }
}

// grid: (KV heads, chunks, tiles of rows): what takes longest begins first, whatever its head and chunk; block: 128
template <int D>
static __global__ void __launch_bounds__(h2o_plain_shape<D>::n_threads) h2o_attn_plain(const h2o_attn_args args) {
    using shape = h2o_plain_shape<D>;

    __shared__ float tile_q [shape::n_rows*shape::stride];
    __shared__ float tile_kv[shape::n_keys*shape::stride];
    __shared__ float tile_p [shape::n_rows*(shape::n_keys + 1)];

    const int tid   = threadIdx.x;
    const int x     = tid%shape::n_x;
    const int y     = tid/shape::n_x;
    const int head  = blockIdx.x;
    const int chunk = blockIdx.y;

    // the last rows see the most keys
    const int row0   = (gridDim.z - 1 - blockIdx.z)*shape::n_rows;
    const int n_rows = min(shape::n_rows, h2o_n_rows(args, chunk) - row0);
    if (n_rows <= 0) {
        return; // behind a short chunk
    }
    const int n_keys = h2o_n_keys(args, head, chunk);
    const int n_vis  = h2o_n_visible(args, n_keys, row0 + n_rows);

    const h2o_rows    rows(args, args.order, head, chunk);
    const h2o_kv_head k(args.k, head/args.n_per_kv, chunk, h2o_set_at(args, head, chunk));
    const h2o_kv_head v(args.v, head/args.n_per_kv, chunk, h2o_set_at(args, head, chunk));

    h2o_load_plain_q<D>(tile_q, args.q, rows, args.scale, row0, n_rows, tid);

    float o[shape::rows_of_thread][D/shape::n_x] = {};
    float m[shape::rows_of_thread];
    float l[shape::rows_of_thread];

#pragma unroll
    for (int i = 0; i < shape::rows_of_thread; ++i) {
        m[i] = -INFINITY;
        l[i] = 0.0f;
    }

    for (int key0 = 0; key0 < n_vis; key0 += shape::n_keys) {
        __syncthreads(); // nobody reads the last V any more
        h2o_load_plain_kv<D>(tile_kv, args.k, k, key0, n_vis, tid);
        __syncthreads();

        float s[shape::rows_of_thread][shape::keys_of_thread];
        h2o_plain_logits<D>(s, tile_q, tile_kv, x, y);

#pragma unroll
        for (int i = 0; i < shape::rows_of_thread; ++i) {
            const int row    = y + i*shape::n_y;
            const int n_seen = h2o_n_visible(args, n_keys, row0 + row + 1);

            float m_new = m[i];
#pragma unroll
            for (int j = 0; j < shape::keys_of_thread; ++j) {
                if (key0 + x + j*shape::n_x >= n_seen) {
                    s[i][j] = -INFINITY;
                }
                m_new = fmaxf(m_new, s[i][j]);
            }
            m_new = h2o_lanes_max<shape::n_x>(m_new);

            const float rescale = expf(m[i] - m_new); // 0 at the first tile, whose first key every row sees
            float       sum     = 0.0f;
#pragma unroll
            for (int j = 0; j < shape::keys_of_thread; ++j) {
                const float p = expf(s[i][j] - m_new);

                tile_p[row*(shape::n_keys + 1) + x + j*shape::n_x] = p;
                sum += p;
            }

            m[i] = m_new;
            l[i] = l[i]*rescale + h2o_lanes_sum<shape::n_x>(sum);
#pragma unroll
            for (int j = 0; j < D/shape::n_x; ++j) {
                o[i][j] *= rescale;
            }
        }

        __syncthreads(); // nobody reads K any more
        h2o_load_plain_kv<D>(tile_kv, args.v, v, key0, n_vis, tid);
        __syncthreads();

#pragma unroll 2
        for (int key = 0; key < shape::n_keys; ++key) {
#pragma unroll
            for (int i = 0; i < shape::rows_of_thread; ++i) {
                const float p = tile_p[(y + i*shape::n_y)*(shape::n_keys + 1) + key];
#pragma unroll
                for (int j = 0; j < D/shape::n_x; ++j) {
                    o[i][j] += p*tile_kv[key*shape::stride + x + j*shape::n_x];
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < shape::rows_of_thread; ++i) {
        const int row = y + i*shape::n_y;

        if (row >= n_rows) {
            continue;
        }

        const int64_t at_row = rows.at(row0 + row);

        const float lse = m[i] + logf(l[i]);
        if (x == 0) {
            args.lse[at_row] = lse;
        }

        const float share  = args.o_prev ? h2o_share(lse, args.lse_prev[at_row]) : 1.0f;
        const float weight = share/l[i];
        const float other  = args.o_prev ? h2o_share(args.lse_prev[at_row], lse) : 0.0f;
#pragma unroll
        for (int j = 0; j < D/shape::n_x; ++j) {
            const int64_t at = at_row*D + x + j*shape::n_x;

            args.o[at] = o[i][j]*weight + (args.o_prev ? args.o_prev[at]*other : 0.0f);
        }
    }
}

// grid: (KV heads, chunks, tiles of keys x splits of the rows); block: 128
template <int D>
static __global__ void __launch_bounds__(h2o_plain_shape<D>::n_threads) h2o_votes_plain(const h2o_attn_args args) {
    using shape = h2o_plain_shape<D>;

    __shared__ float tile_q[shape::n_rows*shape::stride];
    __shared__ float tile_k[shape::n_keys*shape::stride];
    __shared__ float sums  [shape::n_y*shape::n_keys];

    const int tid   = threadIdx.x;
    const int x     = tid%shape::n_x;
    const int y     = tid/shape::n_x;
    const int head  = blockIdx.x;
    const int chunk = blockIdx.y;
    const int split = blockIdx.z % args.n_split;
    const int key0  = blockIdx.z / args.n_split * shape::n_keys;

    const int64_t ih = (int64_t) chunk*args.n_head + head;

    const h2o_rows    rows(args, nullptr, head, chunk);
    const h2o_kv_head k(args.k, head, chunk, h2o_set_at(args, head, chunk));

    h2o_load_plain_kv<D>(tile_k, args.k, k, key0, args.n_keys, tid);

    // this block's share of the rows that see a key of the tile
    const int row_first = h2o_first_row(args, key0);
    const int n_share   = ((args.n_rows - row_first + args.n_split - 1)/args.n_split + shape::n_rows - 1)/shape::n_rows*shape::n_rows;
    const int row_begin = row_first + split*n_share;
    const int row_end   = min(args.n_rows, row_begin + n_share);

    float sum[shape::keys_of_thread] = {};

    for (int row0 = row_begin; row0 < row_end; row0 += shape::n_rows) {
        __syncthreads(); // nobody reads the last rows any more
        h2o_load_plain_q<D>(tile_q, args.q, rows, args.scale, row0, row_end - row0, tid);
        __syncthreads();

        float s[shape::rows_of_thread][shape::keys_of_thread];
        h2o_plain_logits<D>(s, tile_q, tile_k, x, y);

#pragma unroll
        for (int i = 0; i < shape::rows_of_thread; ++i) {
            const int   row = row0 + y + i*shape::n_y;
            const float lse = row < row_end ? args.lse[rows.at(row)] : INFINITY; // no weight
#pragma unroll
            for (int j = 0; j < shape::keys_of_thread; ++j) {
                const float w = expf(s[i][j] - lse);

                sum[j] += row >= h2o_first_row(args, key0 + x + j*shape::n_x) ? w : 0.0f;
            }
        }
    }

#pragma unroll
    for (int j = 0; j < shape::keys_of_thread; ++j) {
        sums[y*shape::n_keys + x + j*shape::n_x] = sum[j];
    }
    __syncthreads();

    float * votes = args.votes_split ? args.votes_split + split*(int64_t) args.n_chunks*args.n_head*args.n_keys : args.votes;

    if (tid < shape::n_keys && key0 + tid < args.n_keys) {
        float res = 0.0f;
        for (int i = 0; i < shape::n_y; ++i) {
            res += sums[i*shape::n_keys + tid];
        }
        votes[ih*args.n_keys + key0 + tid] = res;
    }
}
