// What a query gives all keys together, as GGML_H2O_OP_QUERY estimates it: log-sum-exps of logits, tile by tile.

#pragma once

#include "h2o-query-tiles.cuh"

#include <cfloat>

// the keys of the first page
template <typename P>
struct h2o_summed_keys {
    const h2o_query_args & args;
    const h2o_query_part & part;

    static constexpr int   first_tile = 0;    // of the sums
    static constexpr float log_weight = 0.0f; // of a vector

    __device__ __forceinline__ int n_tiles() const { return 1; }

    __device__ __forceinline__ h2o_cached_vectors tile(int) const { return h2o_keys_of_page<P>(args, part, 0); }
};

// the mean keys of the others, each for all keys of its page
template <typename P>
struct h2o_summed_means {
    const h2o_query_args & args;
    const h2o_query_part & part;

    static_assert(GGML_H2O_PAGE == 64, "the weight is its logarithm");

    static constexpr int   first_tile = 1;
    static constexpr float log_weight = 4.1588830833596715f;

    __device__ __forceinline__ int n_tiles() const { return args.n_sum_tiles - first_tile; }

    __device__ __forceinline__ h2o_plain_vectors<typename P::operand> tile(int i) const {
        const auto * means = (const typename P::operand *) args.means + part.kv_head*args.means_stride;
        const int    page  = 1 + i*P::n_x;

        return { means + (int64_t) page*args.d, args.d, min(P::n_x, args.p.n_pages - page) };
    }
};

// the log of a sum of e^x, of which the largest is max; with one that is infinite it is that one
static __device__ __forceinline__ float h2o_log_of(float max, float sum) {
    return fabsf(max) <= FLT_MAX ? max + logf(sum) : max;
}

// The log-sum-exps of tiles. NaN counts as 0. They are few beside the keys: there may be half as many blocks at a time.
// grid: (so many tiles, whose queries are loaded once, heads, blocks of queries)
template <typename P, typename S>
static __global__ void __launch_bounds__(P::n_threads, P::n_blocks/2) h2o_query_sums(const h2o_query_args args, int n_of_block) {
    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part part(args);
    const S              summed  = { args, part };
    const auto           queries = h2o_queries_of<P>(args, part);

    float * sums = args.sums + (part.at*args.n_sum_tiles + S::first_tile)*GGML_H2O_BLOCK;

    h2o_for_tiles(summed.n_tiles(), n_of_block, [&](int tile, bool has_queries) {
        const auto vectors = summed.tile(tile);

        P product;
        product.multiply(h2o_smem, args.d, queries, vectors, has_queries ? H2O_KEEP_Y : H2O_KEEP_NONE);

#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            float max = -INFINITY;
            h2o_for_row(product, i, [&](float & s, int x) {
                s   = x < vectors.n && s == s ? s : -INFINITY;
                max = fmaxf(max, s);
            });
            max = h2o_lanes_max<P::n_lanes>(max);

            float sum = 0.0f;
            h2o_for_row(product, i, [&](float & s, int) { sum += expf(s - max); });
            sum = h2o_lanes_sum<P::n_lanes>(sum);

            if (P::x(0) == 0) {
                sums[tile*GGML_H2O_BLOCK + P::y(i)] = h2o_log_of(max, sum) + S::log_weight;
            }
        }
    });
}

#define H2O_SHIFT_PARTS 4 // threads of a query

// What is added to a query's logits: less the log-sum-exp of all tiles, and of what it sees; -inf behind the last query.
// grid: (1, heads, blocks of queries); block: (GGML_H2O_BLOCK, H2O_SHIFT_PARTS)
static __global__ void __launch_bounds__(GGML_H2O_BLOCK*H2O_SHIFT_PARTS) h2o_query_shift(const h2o_query_args args) {
    __shared__ float parts[H2O_SHIFT_PARTS][GGML_H2O_BLOCK];

    const h2o_query_part part(args);

    const int query = threadIdx.x;

    const float * sums = args.sums + part.at*args.n_sum_tiles*GGML_H2O_BLOCK + query;

    // NaN counts as 0
    const float near = threadIdx.y == 0 && query < part.n ? fmaxf(args.lse[part.row(args, query)], -INFINITY) : -INFINITY;

    float max = near;
    for (int i = threadIdx.y; i < args.n_sum_tiles; i += H2O_SHIFT_PARTS) {
        max = fmaxf(max, sums[i*GGML_H2O_BLOCK]);
    }
    parts[threadIdx.y][query] = max;
    __syncthreads();

#pragma unroll
    for (int i = 0; i < H2O_SHIFT_PARTS; ++i) {
        max = fmaxf(max, parts[i][query]);
    }
    __syncthreads();

    float sum = 0.0f;
    for (int i = threadIdx.y; i < args.n_sum_tiles; i += H2O_SHIFT_PARTS) {
        sum += expf(sums[i*GGML_H2O_BLOCK] - max);
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
    args.shift[part.at*GGML_H2O_BLOCK + query] = query < part.n ? -h2o_log_of(max, sum) : -INFINITY;
}
