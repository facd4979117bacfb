// Scores of GGML_H2O_OP_QUERY: the queries that ask, and what they give landmarks, pages and single keys. P is the tile
// of products (h2o-query-product.cuh) that a block of threads computes; it says how many threads that are.

#pragma once

#include "h2o-lanes.cuh"
#include "h2o-query-args.cuh"
#include "h2o-query-product.cuh"

#include <cfloat>

#define H2O_ASKING_THREADS 256

// Who asks. Needy are the queries whose own surroundings give them the least, by log-sum-exp per key; ties to the lower
// one, NaN last.
// grid: (1, heads, blocks of queries); block: H2O_ASKING_THREADS
static __global__ void __launch_bounds__(H2O_ASKING_THREADS, 2) h2o_query_asking(const h2o_query_args args) {
    __shared__ uint32_t plenty[GGML_H2O_BLOCK]; // the largest key is the neediest
    __shared__ bool     is_needy[GGML_H2O_BLOCK];
    __shared__ int      needy[GGML_H2O_NEEDY];

    const h2o_query_part part(args);

    const int tid = threadIdx.x;

    float * near = args.near + part.at*GGML_H2O_BLOCK;

    if (tid < GGML_H2O_BLOCK) {
        const float lse  = tid < part.n ? args.lse[part.row(args, tid)] : 0.0f;
        const float need = logf(args.p.n_near + part.query0 + tid + 1) - lse;

        near  [tid] = lse;
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

    const int n_rows = min(GGML_H2O_NEEDY, part.n);

    for (int i = tid; i < H2O_NEEDY_TILE*args.d; i += H2O_ASKING_THREADS) {
        const int row = i/args.d;

        float x = 0.0f;
        if (row < n_rows) {
            x = args.q[part.row(args, needy[row])*args.d + i%args.d]*args.p.scale;
        }
        args.needy[part.at*H2O_NEEDY_TILE*args.d + i] = x;
    }
    for (int row = tid; row < H2O_NEEDY_TILE; row += H2O_ASKING_THREADS) {
        args.needy_shift[part.at*H2O_NEEDY_TILE + row] =
            row < n_rows ? -args.lse[part.row(args, needy[row])] : -INFINITY;
    }

    for (int i = tid; i < GGML_H2O_BLOCK*args.d; i += H2O_ASKING_THREADS) {
        const int query = i/args.d;

        args.scaled[part.at*GGML_H2O_BLOCK*args.d + i] =
            query < part.n ? args.q[part.row(args, query)*args.d + i%args.d]*args.p.scale : 0.0f;
    }
}

// what n of a block's rows are in memory, one after the other
static __device__ __forceinline__ h2o_plain_vectors h2o_rows_of(
        const h2o_query_args & args, const float * rows, int64_t row0, int n) {
    return { rows + row0*args.d, args.d, n };
}

// The most that a row gives each key of a tile: best[i] = max over rows of logit + shift of the thread's key i
template <typename P, typename K>
static __device__ __forceinline__ void h2o_best_of_rows(
        float (&best)[P::n_rows], uint4 * smem, int d, const K & keys, const h2o_plain_vectors & rows,
        const float * shift, h2o_kept_vectors kept) {
    P product;
    product.multiply(smem, d, keys, rows, kept);

#pragma unroll
    for (int i = 0; i < P::n_rows; ++i) {
        float max = -INFINITY;
#pragma unroll
        for (int j = 0; j < P::n_cols; ++j) {
            max = fmaxf(max, product.at(i, j) + shift[P::x(j)]);
        }
        best[i] = fmaxf(best[i], h2o_lanes_max<P::n_lanes>(max));
    }
}

// What needy queries give the landmarks before Local.
// grid: (tiles of landmarks, heads, blocks of queries)
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, 512/P::n_threads) h2o_query_wants(const h2o_query_args args) {
    static_assert(P::n_x == H2O_NEEDY_TILE, "a tile of needy rows");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part part(args);

    const int n    = args.p.n_landmarks;
    const int key0 = blockIdx.x*P::n_y;

    const h2o_kv_head        k(args.k, part.kv_head, 0, args.landmarks + part.kv_head*args.landmarks_stride);
    const h2o_cached_vectors keys = { args.k, k, key0, min(P::n_y, n - key0) };

    float best[P::n_rows];
#pragma unroll
    for (int i = 0; i < P::n_rows; ++i) {
        best[i] = -INFINITY;
    }

    const int64_t at = part.at*H2O_NEEDY_TILE;

    h2o_best_of_rows<P>(best, h2o_smem, args.d, keys, h2o_rows_of(args, args.needy, at, P::n_x),
            args.needy_shift + at, H2O_KEEP_NONE);

    if (P::x(0) == 0) {
#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            const int key = key0 + P::y(i);
            if (key < n) {
                args.wants[part.at*n + key] = k.set[key] < args.p.n_cand ? h2o_order_key(best[i]) : 0;
            }
        }
    }
}

// the mean keys of a tile of pages
static __device__ __forceinline__ h2o_plain_vectors h2o_page_tile(
        const h2o_query_args & args, const h2o_query_part & part, int page0, int n_tile) {
    return { args.pages + part.kv_head*args.pages_stride + (int64_t) page0*args.d, args.d, min(n_tile, args.p.n_pages - page0) };
}

// The largest logit that each query has with the mean key of a page, by tiles of pages.
// grid: (tiles of pages, heads, blocks of queries)
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, 512/P::n_threads) h2o_query_page_most(const h2o_query_args args) {
    static_assert(P::n_x == GGML_H2O_PAGE && P::n_y == GGML_H2O_BLOCK, "a tile of pages for all queries of a block");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part    part(args);
    const h2o_plain_vectors means = h2o_page_tile(args, part, blockIdx.x*P::n_x, P::n_x);

    P product;
    product.multiply(h2o_smem, args.d, h2o_rows_of(args, args.scaled, part.at*P::n_y, P::n_y), means, H2O_KEEP_NONE);

#pragma unroll
    for (int i = 0; i < P::n_rows; ++i) {
        float max = -FLT_MAX; // a number, even where no logit is
#pragma unroll
        for (int j = 0; j < P::n_cols; ++j) {
            max = P::x(j) < means.n ? fmaxf(max, product.at(i, j)) : max;
        }
        max = h2o_lanes_max<P::n_lanes>(max);

        if (P::x(0) == 0) {
            args.page_most[(part.at*gridDim.x + blockIdx.x)*P::n_y + P::y(i)] = max;
        }
    }
}

// The same of all pages.
// grid: (1, heads, blocks of queries); block: GGML_H2O_BLOCK
static __global__ void __launch_bounds__(GGML_H2O_BLOCK) h2o_query_page_shift(const h2o_query_args args) {
    const h2o_query_part part(args);

    const int query   = threadIdx.x;
    const int n_tiles = (args.p.n_pages + GGML_H2O_PAGE - 1)/GGML_H2O_PAGE;

    float max = -FLT_MAX;
    for (int i = 0; i < n_tiles; ++i) {
        max = fmaxf(max, args.page_most[(part.at*n_tiles + i)*GGML_H2O_BLOCK + query]);
    }
    args.page_shift[part.at*GGML_H2O_BLOCK + query] = query < part.n ? -max : -INFINITY;
}

// How much less than in the page that it likes best a query finds in a page, by mean keys: the least of all queries.
// grid: as for h2o_query_page_most
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, 512/P::n_threads) h2o_query_page_scores(
        const h2o_query_args args) {
    static_assert(P::n_x == GGML_H2O_BLOCK && P::n_y == GGML_H2O_PAGE, "all queries of a block for a tile of pages");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part part(args);

    const int     page0 = blockIdx.x*P::n_y;
    const int64_t at    = part.at*P::n_x;

    float best[P::n_rows];
#pragma unroll
    for (int i = 0; i < P::n_rows; ++i) {
        best[i] = -INFINITY;
    }
    h2o_best_of_rows<P>(best, h2o_smem, args.d, h2o_page_tile(args, part, page0, P::n_y),
            h2o_rows_of(args, args.scaled, at, P::n_x), args.page_shift + at, H2O_KEEP_NONE);

    if (P::x(0) != 0) {
        return;
    }
#pragma unroll
    for (int i = 0; i < P::n_rows; ++i) {
        const int page = page0 + P::y(i);

        if (page < args.p.n_pages) {
            args.page_scores[part.at*args.p.n_pages + page] = h2o_order_key(page == 0 ? INFINITY : best[i]); // 0: the sink
        }
    }
}

// A tile of the searched keys: they lie side by side, in a page that was picked or behind the pages.
static __device__ __forceinline__ h2o_cached_vectors h2o_searched_tile(
        const h2o_query_args & args, const h2o_query_part & part, int tile) {
    const int32_t * picked = args.picked ? args.picked + part.at*args.p.n_picked : nullptr;
    const int       key0   = tile*GGML_H2O_PAGE;

    const h2o_kv_head k(args.k, part.kv_head, 0, nullptr);
    return { args.k, k, h2o_searched_at(args, picked, key0), min(GGML_H2O_PAGE, args.n_searched - key0) };
}

#define H2O_TILES_PER_BLOCK 4 // of searched keys: the queries of all of them are loaded once

// The largest logit that each query has with a searched key, by tiles of them.
// grid: (tiles of searched keys, so many to a block of threads, heads, blocks of queries)
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, 512/P::n_threads) h2o_query_key_most(const h2o_query_args args) {
    static_assert(P::n_x == GGML_H2O_PAGE && P::n_y == GGML_H2O_BLOCK, "a page for all queries of a block");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part    part(args);
    const h2o_plain_vectors queries = h2o_rows_of(args, args.scaled, part.at*P::n_y, P::n_y);

    const int tile0 = blockIdx.x*H2O_TILES_PER_BLOCK;

    for (int tile = tile0; tile < min(tile0 + H2O_TILES_PER_BLOCK, args.n_tiles); ++tile) {
        const h2o_cached_vectors keys = h2o_searched_tile(args, part, tile);

        P product;
        product.multiply(h2o_smem, args.d, queries, keys, tile > tile0 ? H2O_KEEP_Y : H2O_KEEP_NONE);

#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            float max = -FLT_MAX; // a number, even where no logit is
#pragma unroll
            for (int j = 0; j < P::n_cols; ++j) {
                max = P::x(j) < keys.n ? fmaxf(max, product.at(i, j)) : max;
            }
            max = h2o_lanes_max<P::n_lanes>(max);

            if (P::x(0) == 0) {
                args.key_most[(part.at*args.n_tiles + tile)*P::n_y + P::y(i)] = max;
            }
        }
    }
}

// Their log-sum-exp, and that of the surroundings.
// grid: (1, heads, blocks of queries); block: GGML_H2O_BLOCK
static __global__ void __launch_bounds__(GGML_H2O_BLOCK) h2o_query_key_shift(const h2o_query_args args) {
    const h2o_query_part part(args);

    const int     query = threadIdx.x;
    const int64_t at    = part.at*GGML_H2O_BLOCK + query;

    const float * most = args.key_most + part.at*args.n_tiles*GGML_H2O_BLOCK + query;
    const float   near = args.near[at];

    float max = near;
    for (int i = 0; i < args.n_tiles; ++i) {
        max = fmaxf(max, most[i*GGML_H2O_BLOCK]);
    }
    float sum = expf(near - max);
    for (int i = 0; i < args.n_tiles; ++i) {
        sum += expf(most[i*GGML_H2O_BLOCK] - max);
    }
    args.key_shift[at] = query < part.n ? -(max + logf(sum)) : -INFINITY;
}

// The largest that a searched key is to a query, beside its surroundings and the best key of each tile.
// grid: as for h2o_query_key_most
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, 512/P::n_threads) h2o_query_key_scores(const h2o_query_args args) {
    static_assert(P::n_x == GGML_H2O_BLOCK && P::n_y == GGML_H2O_PAGE, "all queries of a block for a page");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part    part(args);
    const int64_t           at      = part.at*P::n_x;
    const h2o_plain_vectors queries = h2o_rows_of(args, args.scaled, at, P::n_x);

    const int32_t * taken   = args.by_need + part.at*args.p.n_by_need;
    const int       n_taken = args.n_by_need[part.at];

    const int tile0 = blockIdx.x*H2O_TILES_PER_BLOCK;

    for (int tile = tile0; tile < min(tile0 + H2O_TILES_PER_BLOCK, args.n_tiles); ++tile) {
        const h2o_cached_vectors keys = h2o_searched_tile(args, part, tile);

        float best[P::n_rows];
#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            best[i] = -INFINITY;
        }
        h2o_best_of_rows<P>(best, h2o_smem, args.d, keys, queries,
                args.key_shift + at, tile > tile0 ? H2O_KEEP_X : H2O_KEEP_NONE);

        if (P::x(0) != 0) {
            continue;
        }
#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            if (P::y(i) >= keys.n) {
                continue;
            }
            const int pos   = keys.first + P::y(i);
            const int place = h2o_lower_bound(taken, n_taken, pos);

            args.key_scores[part.at*args.n_searched + tile*P::n_y + P::y(i)] =
                place < n_taken && taken[place] == pos ? 0 : h2o_order_key(best[i]);
        }
    }
}
