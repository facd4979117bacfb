// Scores of GGML_H2O_OP_QUERY: the queries that ask, and what they give landmarks, pages and single keys. P is the tile
// of products (h2o-query-product.cuh) that a block of threads computes; it says how many threads that are.

#pragma once

#include "h2o-lanes.cuh"
#include "h2o-query-args.cuh"
#include "h2o-query-product.cuh"
#include "h2o-tile-load.cuh"

#include <cfloat>

#define H2O_ASKING_THREADS 256

// four values as operands of products
template <typename P>
static __device__ __forceinline__ void h2o_store_scaled(typename P::operand * dst, const float * src, float scale) {
    const float4 x = *(const float4 *) src;

    P::store_4(dst, make_float4(x.x*scale, x.y*scale, x.z*scale, x.w*scale));
}

// of a query; zeros behind the last one
template <typename P>
static __device__ __forceinline__ void h2o_store_scaled(
        typename P::operand * dst, const h2o_query_args & args, const h2o_query_part & part, int query, int channel) {
    if (query < part.n) {
        h2o_store_scaled<P>(dst, args.q + part.row(args, query)*args.d + channel, args.p.scale);
    } else {
        P::store_4(dst, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    }
}

// Who asks. Needy are the queries whose own surroundings give them the least, by log-sum-exp per key; ties to the lower
// one, NaN last.
// grid: (1, heads, blocks of queries); block: H2O_ASKING_THREADS
template <typename P>
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

    const int n_rows   = min(GGML_H2O_NEEDY, part.n);
    const int n_pieces = args.d/4;

    const int64_t at = h2o_needy_at(args, part.head, blockIdx.z);

    auto * needy_rows = (typename P::operand *) args.needy + at*args.d;

    for (int i = tid; i < H2O_NEEDY_TILE*n_pieces; i += H2O_ASKING_THREADS) {
        const int row = i/n_pieces;

        h2o_store_scaled<P>(needy_rows + i*4, args, part, row < n_rows ? needy[row] : part.n, i%n_pieces*4);
    }
    for (int row = tid; row < H2O_NEEDY_TILE; row += H2O_ASKING_THREADS) {
        args.needy_shift[at + row] = row < n_rows ? -near[needy[row]] : -INFINITY;
    }

    auto * scaled = (typename P::operand *) args.scaled + part.at*GGML_H2O_BLOCK*args.d;

    for (int i = tid; i < GGML_H2O_BLOCK*n_pieces; i += H2O_ASKING_THREADS) {
        h2o_store_scaled<P>(scaled + i*4, args, part, i/n_pieces, i%n_pieces*4);
    }
}

// The mean keys of the pages as operands of products.
// grid: (pieces of four channels, KV heads); block: H2O_ASKING_THREADS
template <typename P>
static __global__ void __launch_bounds__(H2O_ASKING_THREADS, 2) h2o_query_means(
        const float * pages, int64_t pages_stride, typename P::operand * means, int64_t means_stride, int n_pieces) {
    const int i = blockIdx.x*H2O_ASKING_THREADS + threadIdx.x;

    if (i < n_pieces) {
        h2o_store_scaled<P>(means + blockIdx.y*means_stride + i*4, pages + blockIdx.y*pages_stride + i*4, 1.0f);
    }
}

// The candidates as halves, where the cache has another type: each of them is searched for many blocks of queries.
// keys: [KV heads][n_cand][d]; grid: (pieces of eight channels, KV heads); block: H2O_ASKING_THREADS
static __global__ void __launch_bounds__(H2O_ASKING_THREADS, 2) h2o_query_halves(const h2o_query_args args, half * keys) {
    const int n_pieces = args.d/8;
    const int i        = blockIdx.x*H2O_ASKING_THREADS + threadIdx.x;

    if (i < args.p.n_cand*n_pieces) {
        float x[8];
        h2o_read_8(args.k, h2o_kv_head(args.k, blockIdx.y, 0, nullptr), i/n_pieces, i%n_pieces*8, x);
        h2o_store_8((half2 *) (keys + ((int64_t) blockIdx.y*args.p.n_cand*n_pieces + i)*8), x);
    }
}

// n of a block's rows, one after the other
template <typename P>
static __device__ __forceinline__ h2o_plain_vectors<typename P::operand> h2o_rows_of(
        const h2o_query_args & args, const void * rows, int64_t row0, int n) {
    return { (const typename P::operand *) rows + row0*args.d, args.d, n };
}

// the largest of row i of products, each as f(product, place along x) has it; for all lanes that share the row
template <typename P, typename F>
static __device__ __forceinline__ float h2o_row_max(P & product, int i, const F & f) {
    float max = -INFINITY;
#pragma unroll
    for (int j = 0; j < P::n_cols; ++j) {
        max = fmaxf(max, f(product.at(i, j), P::x(j)));
    }
    return h2o_lanes_max<P::n_lanes>(max);
}

#define H2O_BLOCKS_OF_NEEDY 4 // whose needy queries are a tile

// What needy queries give the landmarks before Local.
// grid: (tiles of landmarks, heads, so many blocks of queries)
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, P::n_blocks) h2o_query_wants(const h2o_query_args args) {
    static_assert(P::n_x == H2O_BLOCKS_OF_NEEDY*H2O_NEEDY_TILE, "the needy rows of some blocks");

    extern __shared__ uint4 h2o_smem[];

    const int n_landmarks = args.p.n_landmarks;
    const int key0        = blockIdx.x*P::n_y;
    const int block0      = blockIdx.z*H2O_BLOCKS_OF_NEEDY;
    const int n_blocks    = min(H2O_BLOCKS_OF_NEEDY, args.n_blocks - block0);

    const int     head  = blockIdx.y;
    const int     kv    = head/args.n_group;
    const int64_t at    = h2o_needy_at(args, head, block0);
    const float * shift = args.needy_shift + at;

    const h2o_kv_head        k(args.k, kv, 0, args.landmarks + kv*args.landmarks_stride);
    const h2o_cached_vectors keys = { args.k, k, key0, min(P::n_y, n_landmarks - key0) };

    P product;
    product.multiply(h2o_smem, args.d, keys, h2o_rows_of<P>(args, args.needy, at, n_blocks*H2O_NEEDY_TILE), H2O_KEEP_NONE);

#pragma unroll
    for (int b = 0; b < H2O_BLOCKS_OF_NEEDY; ++b) {
        if (b == n_blocks) {
            break;
        }
        uint32_t * wants = args.wants + ((int64_t) (block0 + b)*args.n_head + head)*n_landmarks;

#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            const float best = h2o_row_max(product, i, [&](float s, int x) { return x/H2O_NEEDY_TILE == b ? s + shift[x] : -INFINITY; });

            const int key = key0 + P::y(i);
            if (P::x(0) == 0 && key < n_landmarks) {
                wants[key] = k.set[key] < args.p.n_cand ? h2o_order_key(best) : 0;
            }
        }
    }
}

// What the queries of a block are compared with: the mean keys of all pages; then the keys of the pages that were picked and
// those behind the pages; and those of the pages that have a wanted one once more.

template <typename P>
struct h2o_query_pages {
    const h2o_query_args & args;
    const h2o_query_part & part;

    __device__ __forceinline__ int     n_tiles() const { return (args.p.n_pages + P::n_x - 1)/P::n_x; }
    __device__ __forceinline__ float * most()    const { return args.page_most; }
    __device__ __forceinline__ float * shift()   const { return args.page_shift; }

    __device__ __forceinline__ h2o_plain_vectors<typename P::operand> tile(int i) const {
        const auto * means = (const typename P::operand *) args.means + part.kv_head*args.means_stride;

        return { means + (int64_t) i*P::n_x*args.d, args.d, min(P::n_x, args.p.n_pages - i*P::n_x) };
    }

    __device__ __forceinline__ void store(int i, float best) const {
        args.page_scores[part.at*args.p.n_pages + i] = h2o_order_key(i == 0 ? INFINITY : best); // 0: the sink
    }
};

// the keys of a page
template <typename P>
static __device__ __forceinline__ h2o_cached_vectors h2o_keys_of_page(
        const h2o_query_args & args, const h2o_query_part & part, int page) {
    static_assert(P::n_x == GGML_H2O_PAGE && P::n_y == GGML_H2O_PAGE, "a tile is a page");

    return { args.k, h2o_kv_head(args.k, part.kv_head, 0, nullptr), page*GGML_H2O_PAGE, h2o_n_keys_of_page(args, page) };
}

template <typename P>
struct h2o_query_keys {
    const h2o_query_args & args;
    const h2o_query_part & part;

    __device__ __forceinline__ int     n_tiles() const { return args.n_tiles; }
    __device__ __forceinline__ float * most()    const { return args.key_most; }

    __device__ __forceinline__ h2o_cached_vectors tile(int i) const {
        return h2o_keys_of_page<P>(args, part, h2o_searched_page(args, part, i));
    }
};

template <typename P>
struct h2o_query_wanted_keys {
    const h2o_query_args & args;
    const h2o_query_part & part;

    __device__ __forceinline__ int     n_tiles() const { return args.n_wanted[part.at]; }
    __device__ __forceinline__ float * shift()   const { return args.key_shift; }

    __device__ __forceinline__ h2o_cached_vectors tile(int i) const {
        return h2o_keys_of_page<P>(args, part, args.wanted[part.at*args.n_tiles + i]);
    }

    __device__ __forceinline__ void store(int i, float best) const {
        args.key_scores[part.at*args.n_searched + i] = h2o_order_key(best);
    }
};

// the tiles of this block of threads: f(tile, its keys, whether it is not the first)
template <typename S, typename F>
static __device__ __forceinline__ void h2o_for_tiles(const S & searched, int n_of_block, const F & f) {
    const int begin = blockIdx.x*n_of_block;
    const int end   = min(begin + n_of_block, searched.n_tiles());

    for (int tile = begin; tile < end; ++tile) {
        f(tile, searched.tile(tile), tile > begin);
    }
}

// The largest logit that each query has with a tile.
// grid: (so many tiles, whose queries are loaded once, heads, blocks of queries)
template <typename P, typename S>
static __global__ void __launch_bounds__(P::n_threads, P::n_blocks) h2o_query_most(
        const h2o_query_args args, int n_of_block) {
    static_assert(P::n_y == GGML_H2O_BLOCK, "all queries of a block");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part part(args);
    const S              searched = { args, part };
    const auto           queries  = h2o_rows_of<P>(args, args.scaled, part.at*P::n_y, P::n_y);

    const int n_tiles = searched.n_tiles();

    h2o_for_tiles(searched, n_of_block, [&](int tile, const auto & keys, bool has_queries) {
        P product;
        product.multiply(h2o_smem, args.d, queries, keys, has_queries ? H2O_KEEP_Y : H2O_KEEP_NONE);

        if (keys.n < P::n_x) {
#pragma unroll
            for (int j = 0; j < P::n_cols; ++j) {
#pragma unroll
                for (int i = 0; i < P::n_rows; ++i) {
                    product.at(i, j) = P::x(j) < keys.n ? product.at(i, j) : -INFINITY;
                }
            }
        }

#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            const float max = h2o_row_max(product, i, [](float s, int) { return s; });

            if (P::x(0) == 0) { // a number, even where no logit is
                searched.most()[(part.at*n_tiles + tile)*P::n_y + P::y(i)] = fmaxf(max, -FLT_MAX);
            }
        }
    });
}

// How much less than in the page that it likes best a query finds in a page, by mean keys, the least of all queries; and
// the largest that a searched key is to a query, beside its surroundings and the best key of each tile.
// grid: as for h2o_query_most
template <typename P, typename S>
static __global__ void __launch_bounds__(P::n_threads, P::n_blocks) h2o_query_scores(
        const h2o_query_args args, int n_of_block) {
    static_assert(P::n_x == GGML_H2O_BLOCK, "all queries of a block");

    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part part(args);
    const S              searched = { args, part };
    const auto           queries  = h2o_rows_of<P>(args, args.scaled, part.at*P::n_x, P::n_x);
    const float        * shift    = searched.shift() + part.at*P::n_x;

    h2o_for_tiles(searched, n_of_block, [&](int tile, const auto & keys, bool has_queries) {
        P product;
        product.multiply(h2o_smem, args.d, keys, queries, has_queries ? H2O_KEEP_X : H2O_KEEP_NONE);

#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            const float best = h2o_row_max(product, i, [&](float s, int x) { return s + shift[x]; });

            if (P::x(0) == 0 && P::y(i) < keys.n) {
                searched.store(tile*P::n_y + P::y(i), best);
            }
        }
    });
}

// What is added to a query's logits with mean keys: less the largest.
// grid: (1, heads, blocks of queries); block: GGML_H2O_BLOCK
static __global__ void __launch_bounds__(GGML_H2O_BLOCK) h2o_query_page_shift(const h2o_query_args args, int n_tiles) {
    const h2o_query_part part(args);

    const int query = threadIdx.x;

    float max = -FLT_MAX;
    for (int i = 0; i < n_tiles; ++i) {
        max = fmaxf(max, args.page_most[(part.at*n_tiles + i)*GGML_H2O_BLOCK + query]);
    }
    args.page_shift[part.at*GGML_H2O_BLOCK + query] = query < part.n ? -max : -INFINITY;
}

#define H2O_SHIFT_PARTS 4 // threads of a query

// And with searched keys: less the log-sum-exp of the best of each tile, and of the surroundings.
// grid: (1, heads, blocks of queries); block: (GGML_H2O_BLOCK, H2O_SHIFT_PARTS)
static __global__ void __launch_bounds__(GGML_H2O_BLOCK*H2O_SHIFT_PARTS) h2o_query_key_shift(const h2o_query_args args) {
    __shared__ float parts[H2O_SHIFT_PARTS][GGML_H2O_BLOCK];

    const h2o_query_part part(args);

    const int     query = threadIdx.x;
    const int64_t at    = part.at*GGML_H2O_BLOCK + query;

    const float * most = args.key_most + part.at*args.n_tiles*GGML_H2O_BLOCK + query;
    const float   near = args.near[at];

    float max = near;
    for (int i = threadIdx.y; i < args.n_tiles; i += H2O_SHIFT_PARTS) {
        max = fmaxf(max, most[i*GGML_H2O_BLOCK]);
    }
    parts[threadIdx.y][query] = max;
    __syncthreads();

#pragma unroll
    for (int i = 0; i < H2O_SHIFT_PARTS; ++i) {
        max = fmaxf(max, parts[i][query]);
    }
    __syncthreads();

    float sum = 0.0f;
    for (int i = threadIdx.y; i < args.n_tiles; i += H2O_SHIFT_PARTS) {
        sum += expf(most[i*GGML_H2O_BLOCK] - max);
    }
    parts[threadIdx.y][query] = sum;
    __syncthreads();

    if (threadIdx.y > 0) {
        return;
    }
    sum = expf(near - max);
#pragma unroll
    for (int i = 0; i < H2O_SHIFT_PARTS; ++i) {
        sum += parts[i][query];
    }
    args.key_shift[at] = query < part.n ? -(max + logf(sum)) : -INFINITY;
}
