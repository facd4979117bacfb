// Scores of GGML_H2O_OP_QUERY: the queries that ask, and what they give landmarks, pages and single keys.

#pragma once

#include "h2o-lanes.cuh"
#include "h2o-query-args.cuh"
#include "h2o-query-product.cuh"

#include <cfloat>

// Who asks. Needy are the queries whose own surroundings give them the least, by log-sum-exp per key; ties to the lower
// one, NaN last.
// grid: (1, KV heads, blocks of queries); block: H2O_PRODUCT_THREADS
static __global__ void __launch_bounds__(H2O_PRODUCT_THREADS, 2) h2o_query_asking(const h2o_query_args args) {
    __shared__ uint32_t plenty[GGML_H2O_BLOCK]; // the largest key is the neediest
    __shared__ bool     is_needy[GGML_H2O_BLOCK];
    __shared__ int      needy[GGML_H2O_NEEDY];

    const h2o_query_part part(args);

    const int tid = threadIdx.x;

    const float inv_group = 1.0f/args.n_group;

    float * near = args.near + part.at*GGML_H2O_BLOCK;

    if (tid < GGML_H2O_BLOCK) {
        float sum = 0.0f;
        for (int ig = 0; ig < args.n_group && tid < part.n; ++ig) {
            sum += args.lse[part.row(args, tid, ig)];
        }
        const float need = logf(args.p.n_near + part.query0 + tid + 1) - sum*inv_group;

        near  [tid] = sum*inv_group;
        plenty[tid] = tid < part.n ? h2o_order_key(need) : 0;
    }
    __syncthreads();

    if (tid < GGML_H2O_BLOCK) {
        int rank = 0;
        for (int i = 0; i < GGML_H2O_BLOCK; ++i) {
            rank += plenty[i] > plenty[tid] || (plenty[i] == plenty[tid] && i < tid);
        }
        is_needy[tid] = rank < min(GGML_H2O_NEEDY, part.n);
    }
    __syncthreads();

    if (tid < GGML_H2O_BLOCK && is_needy[tid]) {
        int place = 0;
        for (int i = 0; i < tid; ++i) {
            place += is_needy[i];
        }
        needy[place] = tid;
    }
    __syncthreads();

    const int n_rows = min(GGML_H2O_NEEDY, part.n)*args.n_group;

    for (int i = tid; i < args.n_needy_rows*args.d; i += H2O_PRODUCT_THREADS) {
        const int row = i/args.d;

        float x = 0.0f;
        if (row < n_rows) {
            x = args.q[part.row(args, needy[row/args.n_group], row%args.n_group)*args.d + i%args.d]*args.p.scale;
        }
        args.needy[part.at*args.n_needy_rows*args.d + i] = x;
    }
    for (int row = tid; row < args.n_needy_rows; row += H2O_PRODUCT_THREADS) {
        args.needy_shift[part.at*args.n_needy_rows + row] =
            row < n_rows ? -args.lse[part.row(args, needy[row/args.n_group], row%args.n_group)] : -INFINITY;
    }

    for (int i = tid; i < GGML_H2O_BLOCK*args.d; i += H2O_PRODUCT_THREADS) {
        const int query = i/args.d;

        float sum = 0.0f;
        for (int ig = 0; ig < args.n_group && query < part.n; ++ig) {
            sum += args.q[part.row(args, query, ig)*args.d + i%args.d];
        }
        args.mean[part.at*GGML_H2O_BLOCK*args.d + i] = sum*(args.p.scale*inv_group);
    }
    __syncthreads();

    // the last query of an odd number is its own partner
    const auto partner = [&](int pair) { return min(2*pair + 1, part.n - 1); };

    const float * mean  = args.mean  + part.at*GGML_H2O_BLOCK *args.d;
    float       * pairs = args.pairs + part.at*H2O_QUERY_PAIRS*args.d;

    for (int i = tid; i < H2O_QUERY_PAIRS*args.d; i += H2O_PRODUCT_THREADS) {
        const int pair = i/args.d;

        pairs[i] = 2*pair < part.n ? 0.5f*(mean[2*pair*args.d + i%args.d] + mean[partner(pair)*args.d + i%args.d]) : 0.0f;
    }
    __syncthreads();

    if (tid < H2O_QUERY_PAIRS) {
        float square = 0.0f;
        for (int i = 0; i < args.d; ++i) {
            square += pairs[tid*args.d + i]*pairs[tid*args.d + i];
        }
        const float shift = 2*tid < part.n ? -0.5f*(near[2*tid] + near[partner(tid)]) : -INFINITY;

        args.pair_parts[part.at*H2O_QUERY_PAIRS + tid] = make_float2(shift, 0.5f*square);
    }
}

// The most that a row gives each key of a tile: best[i] = max over rows of logit + shift of the thread's key i
template <int N_ROWS, typename F>
static __device__ __forceinline__ void h2o_best_of_rows(
        float (&best)[4], float4 * smem, const float * rows, const float * shift, int row0, int d, const F & load_key) {
    using shape = h2o_product_shape<N_ROWS>;

    float s[4][4];
    h2o_product<N_ROWS>(s, smem, d, load_key, [&](int i, int channel, float (&x)[8]) {
        h2o_load_8(rows + (int64_t) (row0 + i)*d + channel, x);
    });

    const int x = threadIdx.x%shape::n_threads_x*4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float max = -INFINITY;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            max = fmaxf(max, s[i][j] + shift[row0 + x + j]);
        }
        best[i] = fmaxf(best[i], h2o_lanes_max<shape::n_threads_x>(max));
    }
}

#define H2O_NEEDY_TILE 16 // rows

// What needy queries give the landmarks before Local.
// grid: (tiles of landmarks, KV heads, blocks of queries)
static __global__ void __launch_bounds__(H2O_PRODUCT_THREADS, 2) h2o_query_wants(const h2o_query_args args) {
    using shape = h2o_product_shape<H2O_NEEDY_TILE>;

    __shared__ float4 smem[shape::size_smem];

    const h2o_query_part part(args);

    const int n    = args.p.n_landmarks;
    const int key0 = blockIdx.x*shape::n_y;

    const h2o_kv_head k(args.k, part.head, 0, args.landmarks + part.head*args.landmarks_stride);

    float best[4] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY };

    for (int row0 = 0; row0 < args.n_needy_rows; row0 += H2O_NEEDY_TILE) {
        h2o_best_of_rows<H2O_NEEDY_TILE>(best, smem, args.needy + part.at*args.n_needy_rows*args.d,
                args.needy_shift + part.at*args.n_needy_rows, row0, args.d, [&](int i, int channel, float (&x)[8]) {
            if (key0 + i < n) {
                h2o_read_8(args.k, k, key0 + i, channel, x);
            }
        });
    }

    const int y = threadIdx.x/shape::n_threads_x*4;
    if (threadIdx.x%shape::n_threads_x == 0) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (key0 + y + i < n) {
                args.wants[part.at*n + key0 + y + i] = k.set[key0 + y + i] < args.p.n_cand ? h2o_order_key(best[i]) : 0;
            }
        }
    }
}

// What the block's queries, in pairs, find in a page: the log of the mean of e^logit over its keys, to the second order
// around the mean key, over that of the surroundings.
// grid: (tiles of pages, KV heads, blocks of queries)
static __global__ void __launch_bounds__(H2O_PRODUCT_THREADS, 2) h2o_query_page_scores(const h2o_query_args args) {
    using shape = h2o_product_shape<H2O_QUERY_PAIRS>;

    __shared__ float4 smem[shape::size_smem];

    const h2o_query_part part(args);

    const int tid  = threadIdx.x;
    const int n    = args.p.n_pages;
    const int key0 = blockIdx.x*shape::n_y;

    const h2o_kv_head pages(args.pages, part.head, 0, nullptr);

    float s[4][4];
    h2o_product<H2O_QUERY_PAIRS>(s, smem, args.d, [&](int i, int channel, float (&x)[8]) {
        if (key0 + i < n) {
            h2o_read_8(args.pages, pages, key0 + i, channel, x);
        }
    }, [&](int i, int channel, float (&x)[8]) {
        h2o_load_8(args.pairs + (part.at*H2O_QUERY_PAIRS + i)*args.d + channel, x);
    });

    const float2 * parts = args.pair_parts + part.at*H2O_QUERY_PAIRS;

    const int x = tid%shape::n_threads_x*4;
    const int y = tid/shape::n_threads_x*4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int page = key0 + y + i;

        // behind the mean key: the mean variance of a channel
        const float variance = page < n ? *(const float *) (pages.at(args.pages, page) + args.d*sizeof(float)) : 0.0f;

        float max = -INFINITY;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            max = fmaxf(max, s[i][j] + parts[x + j].y*variance + parts[x + j].x);
        }
        max = h2o_lanes_max<shape::n_threads_x>(max);

        if (x == 0 && page < n) {
            args.page_scores[part.at*n + page] = h2o_order_key(page == 0 ? INFINITY : max); // 0: the sink
        }
    }
}

// The keys of a tile of what is searched, for h2o_product.
struct h2o_searched_tile {
    const h2o_query_args & args;
    const h2o_kv_head      k;
    const int32_t        * picked;
    const int              key0;

    __device__ __forceinline__ h2o_searched_tile(const h2o_query_args & args, const h2o_query_part & part) :
        args(args), k(args.k, part.head, 0, nullptr),
        picked(args.picked ? args.picked + part.at*args.p.n_picked : nullptr), key0(blockIdx.x*GGML_H2O_PAGE) {}

    __device__ __forceinline__ void operator()(int i, int channel, float (&x)[8]) const {
        if (key0 + i < args.n_searched) {
            h2o_read_8(args.k, k, h2o_searched_at(args, picked, key0 + i), channel, x);
        }
    }
};

// What a tile of the searched keys adds to the log-sum-exp of each query.
// grid: (tiles of searched keys, KV heads, blocks of queries)
static __global__ void __launch_bounds__(H2O_PRODUCT_THREADS, 2) h2o_query_sums(const h2o_query_args args) {
    using shape = h2o_product_shape<GGML_H2O_PAGE>;

    __shared__ float4 smem[shape::size_smem];

    const h2o_query_part    part(args);
    const h2o_searched_tile keys(args, part);

    const float * rows = args.mean + part.at*GGML_H2O_BLOCK*args.d;

    float s[4][4];
    h2o_product<GGML_H2O_PAGE>(s, smem, args.d, [&](int i, int channel, float (&x)[8]) {
        h2o_load_8(rows + (int64_t) i*args.d + channel, x);
    }, keys);

    const int x = threadIdx.x%shape::n_threads_x*4;
    const int y = threadIdx.x/shape::n_threads_x*4;

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float max = -FLT_MAX; // a number, even where no logit is
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            s[i][j] = keys.key0 + x + j < args.n_searched ? s[i][j] : -INFINITY;
            max     = fmaxf(max, s[i][j]);
        }
        max = h2o_lanes_max<shape::n_threads_x>(max);

        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            sum += expf(s[i][j] - max);
        }
        sum = h2o_lanes_sum<shape::n_threads_x>(sum);

        if (x == 0) {
            args.sums[(part.at*gridDim.x + blockIdx.x)*GGML_H2O_BLOCK + y + i] = { max, sum };
        }
    }
}

// The largest share that a searched key has in what a query would see, of its surroundings and of all that is searched.
// grid: as for h2o_query_sums
static __global__ void __launch_bounds__(H2O_PRODUCT_THREADS, 2) h2o_query_shares(const h2o_query_args args) {
    using shape = h2o_product_shape<GGML_H2O_BLOCK>;

    __shared__ float4 smem[shape::size_smem];
    __shared__ float shift[GGML_H2O_BLOCK];

    const h2o_query_part    part(args);
    const h2o_searched_tile keys(args, part);

    const int tid = threadIdx.x;

    if (tid < GGML_H2O_BLOCK) { // read behind the product's barriers
        const h2o_query_sum * sums = args.sums + part.at*gridDim.x*GGML_H2O_BLOCK + tid;

        const float near = args.near[part.at*GGML_H2O_BLOCK + tid];

        float max = near;
        for (unsigned i = 0; i < gridDim.x; ++i) {
            max = fmaxf(max, sums[i*GGML_H2O_BLOCK].max);
        }
        float sum = expf(near - max);
        for (unsigned i = 0; i < gridDim.x; ++i) {
            sum += sums[i*GGML_H2O_BLOCK].sum*expf(sums[i*GGML_H2O_BLOCK].max - max);
        }
        shift[tid] = tid < part.n ? -(max + logf(sum)) : -INFINITY;
    }

    float best[4] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY };

    h2o_best_of_rows<GGML_H2O_BLOCK>(best, smem, args.mean + part.at*GGML_H2O_BLOCK*args.d, shift, 0, args.d, keys);

    const int32_t * taken   = args.by_need + part.at*args.p.n_by_need;
    const int       n_taken = args.n_by_need[part.at];

    const int y = tid/shape::n_threads_x*4;
    if (tid%shape::n_threads_x == 0) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int key = keys.key0 + y + i;
            if (key >= args.n_searched) {
                continue;
            }
            const int pos = h2o_searched_at(args, keys.picked, key);
            const int at  = h2o_lower_bound(taken, n_taken, pos);

            args.shares[part.at*args.n_searched + key] = at < n_taken && taken[at] == pos ? 0 : h2o_order_key(best[i]);
        }
    }
}
