// What the kernels of GGML_H2O_OP_QUERY are launched with; see ggml_h2o_query for shapes and meaning, and
// ops/cpu/h2o-query.cpp for the steps. A thread block works for one head and block of queries: blockIdx.y and z.

#pragma once

#include "h2o-kv-read.cuh"
#include "h2o-top.cuh"

#include "../ggml-h2o.h"

#define H2O_NEEDY_TILE 16 // rows of a block, of which GGML_H2O_NEEDY are queries

struct h2o_query_args {
    ggml_h2o_query_params p;

    const float * q;   // [d, n_head, n_queries]
    const float * lse; // [n_head, n_queries]

    h2o_kv k;

    const float   * pages;            // [d] of each
    int64_t         pages_stride;     // from KV head to KV head
    void          * means;            // the same as operands of products
    int64_t         means_stride;
    const int32_t * landmarks;
    int64_t         landmarks_stride; // from KV head to KV head

    int d;
    int n_head;     // each with a set of its own
    int n_group;    // of them read the keys of one KV head
    int n_queries;
    int n_blocks;   // of GGML_H2O_BLOCK queries
    int n_searched;   // candidates that are scored key by key
    int n_tiles;      // tiles of GGML_H2O_PAGE of them
    int n_set;

    // What the kernels hand on, for each head and block: scaled queries, as operands of products, with what is added to
    // their logits, scores as keys that order like them (0: not to be chosen), and choices, ascending.
    void          * needy;       // [H2O_NEEDY_TILE][d]; these and their shifts lie side by side for the blocks of a head
    float         * needy_shift; // [H2O_NEEDY_TILE]
    void          * scaled;      // [GGML_H2O_BLOCK][d] all queries
    float         * near;        // [GGML_H2O_BLOCK] log-sum-exp of their surroundings
    float         * page_most;   // [tiles of pages][GGML_H2O_BLOCK] the largest logit of a mean key
    float         * page_shift;  // [GGML_H2O_BLOCK] less that of all pages
    uint32_t      * wants;       // [p.n_landmarks]
    uint32_t      * page_scores; // [p.n_pages]
    uint32_t      * key_scores;  // [n_searched]
    float         * key_most;    // [n_tiles][GGML_H2O_BLOCK] the largest logit of a searched key
    float         * key_shift;   // [GGML_H2O_BLOCK] less the log-sum-exp of these, and of the surroundings
    float         * key_best;    // [n_tiles] the largest score of a searched key
    float         * least;       // one: what the score of a wanted key is at least
    int32_t       * wanted;      // [n_tiles] pages with a wanted key
    int32_t       * n_wanted;    // one
    int32_t       * by_need;     // [p.n_by_need] positions
    int32_t       * n_by_need;   // one
    int32_t       * picked;      // [p.n_picked] pages; null: all of them
    int32_t       * by_all;      // [n_set] positions

    int32_t * out;
    int64_t   out_stride;       // from head to head
    int64_t   out_stride_block; // from block to block
};

// which head and block of queries a thread block works for
struct h2o_query_part {
    int     head;
    int     kv_head;
    int     query0;
    int     n;  // queries
    int64_t at; // in what the kernels hand on

    __device__ __forceinline__ h2o_query_part(const h2o_query_args & args) :
        head(blockIdx.y), kv_head(head/args.n_group), query0(blockIdx.z*GGML_H2O_BLOCK),
        n(min(GGML_H2O_BLOCK, args.n_queries - query0)),
        at((int64_t) blockIdx.z*args.n_head + head) {}

    // a query in lse; times d in q
    __device__ __forceinline__ int64_t row(const h2o_query_args & args, int query) const {
        return (int64_t) (query0 + query)*args.n_head + head;
    }
};

// the first row of a head's block in needy and needy_shift
static __device__ __forceinline__ int64_t h2o_needy_at(const h2o_query_args & args, int head, int block) {
    return ((int64_t) head*args.n_blocks + block)*H2O_NEEDY_TILE;
}

// the i-th page that is searched; behind the picked ones comes what is left of the candidates
static __device__ __forceinline__ int h2o_searched_page(const h2o_query_args & args, const h2o_query_part & part, int i) {
    return i >= args.p.n_picked ? args.p.n_pages : args.picked ? args.picked[part.at*args.p.n_picked + i] : i;
}

// candidates of a page
static __device__ __forceinline__ int h2o_n_keys_of_page(const h2o_query_args & args, int page) {
    return min(GGML_H2O_PAGE, args.p.n_cand - page*GGML_H2O_PAGE);
}
