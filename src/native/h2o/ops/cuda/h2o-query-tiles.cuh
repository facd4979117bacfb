// What GGML_H2O_OP_QUERY multiplies. P is the tile of products (h2o-query-product.cuh) that a block of threads computes; it
// says how many threads that are.

#pragma once

#include "h2o-lanes.cuh"
#include "h2o-query-args.cuh"
#include "h2o-query-product.cuh"
#include "h2o-tile-load.cuh"

#define H2O_OPERAND_THREADS 256

// four values as operands of products
template <typename P>
static __device__ __forceinline__ void h2o_store_scaled(typename P::operand * dst, const float * src, float scale) {
    const float4 x = *(const float4 *) src;

    P::store_4(dst, make_float4(x.x*scale, x.y*scale, x.z*scale, x.w*scale));
}

// The queries of the blocks, scaled; zeros behind the last one.
// grid: (1, heads, blocks of queries); block: H2O_OPERAND_THREADS
template <typename P>
static __global__ void __launch_bounds__(H2O_OPERAND_THREADS, 2) h2o_query_scaled(const h2o_query_args args) {
    const h2o_query_part part(args);

    const int n_pieces = args.d/4;

    auto * scaled = (typename P::operand *) args.scaled + part.at*GGML_H2O_BLOCK*args.d;

    for (int i = threadIdx.x; i < GGML_H2O_BLOCK*n_pieces; i += H2O_OPERAND_THREADS) {
        const int query = i/n_pieces;

        if (query < part.n) {
            h2o_store_scaled<P>(scaled + i*4, args.q + part.row(args, query)*args.d + i%n_pieces*4, args.p.scale);
        } else {
            P::store_4(scaled + i*4, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
        }
    }
}

// The mean keys of the pages.
// grid: (pieces of four channels, KV heads); block: H2O_OPERAND_THREADS
template <typename P>
static __global__ void __launch_bounds__(H2O_OPERAND_THREADS, 2) h2o_query_means(
        const float * pages, int64_t pages_stride, typename P::operand * means, int64_t means_stride, int n_pieces) {
    const int i = blockIdx.x*H2O_OPERAND_THREADS + threadIdx.x;

    if (i < n_pieces) {
        h2o_store_scaled<P>(means + blockIdx.y*means_stride + i*4, pages + blockIdx.y*pages_stride + i*4, 1.0f);
    }
}

// The candidates as halves, where the cache has another type: each of them is compared with many blocks of queries.
// keys: [KV heads][n_cand][d]; grid: (pieces of eight channels, KV heads); block: H2O_OPERAND_THREADS
static __global__ void __launch_bounds__(H2O_OPERAND_THREADS, 2) h2o_query_halves(const h2o_query_args args, half * keys) {
    const int n_pieces = args.d/8;
    const int i        = blockIdx.x*H2O_OPERAND_THREADS + threadIdx.x;

    if (i < args.p.n_cand*n_pieces) {
        float x[8];
        h2o_read_8(args.k, h2o_kv_head(args.k, blockIdx.y, 0, nullptr), i/n_pieces, i%n_pieces*8, x);
        h2o_store_8((half2 *) (keys + ((int64_t) blockIdx.y*args.p.n_cand*n_pieces + i)*8), x);
    }
}

// all rows of a block of queries
template <typename P>
static __device__ __forceinline__ h2o_plain_vectors<typename P::operand> h2o_queries_of(
        const h2o_query_args & args, const h2o_query_part & part) {
    static_assert(P::n_x == GGML_H2O_BLOCK && P::n_y == GGML_H2O_BLOCK, "a tile is a block of queries");

    return { (const typename P::operand *) args.scaled + part.at*GGML_H2O_BLOCK*args.d, args.d, GGML_H2O_BLOCK };
}

// the candidates of a page
template <typename P>
static __device__ __forceinline__ h2o_cached_vectors h2o_keys_of_page(
        const h2o_query_args & args, const h2o_query_part & part, int page) {
    static_assert(P::n_x == GGML_H2O_PAGE && P::n_y == GGML_H2O_PAGE, "a tile is a page");

    const int first = page*GGML_H2O_PAGE;

    return { args.k, h2o_kv_head(args.k, part.kv_head, 0, nullptr), first, min(GGML_H2O_PAGE, args.p.n_cand - first) };
}

// f(x, place along x) for what this thread has of row i of products
template <typename P, typename F>
static __device__ __forceinline__ void h2o_for_row(P & product, int i, const F & f) {
#pragma unroll
    for (int j = 0; j < P::n_cols; ++j) {
        f(product.at(i, j), P::x(j));
    }
}

// f(tile, whether it is not the first) for the tiles of this block of threads
template <typename F>
static __device__ __forceinline__ void h2o_for_tiles(int n_tiles, int n_of_block, const F & f) {
    const int begin = blockIdx.x*n_of_block;
    const int end   = min(begin + n_of_block, n_tiles);

    for (int tile = begin; tile < end; ++tile) {
        f(tile, tile > begin);
    }
}
