// What the kernels of GGML_H2O_OP_QUERY are launched with; see ggml_h2o_query for shapes and meaning. A thread block works for
// one head and block of queries: blockIdx.y and z.

#pragma once

#include "h2o-kv-read.cuh"

#include "../ggml-h2o.h"

struct h2o_query_args {
    ggml_h2o_query_params p;

    const float   * q;     // [d, n_head, n_queries]
    const int32_t * order; // [n_queries, n_head]; null: blocks are of neighbours
    const float   * lse;   // [n_head, n_queries]

    h2o_kv k;

    const float * pages;        // [d] of each
    int64_t       pages_stride; // from KV head to KV head
    void        * means;        // the same as operands of products
    int64_t       means_stride;

    int d;
    int n_head;      // each with a set of its own
    int n_group;     // of them read the keys of one KV head
    int n_queries;
    int n_sum_tiles; // tiles of logits that are summed: the first page's, and those of mean keys
    int n_set;

    // what the kernels hand on, for each head and block
    void     * scaled; // [GGML_H2O_BLOCK][d] queries, as operands of products
    float    * sums;   // [n_sum_tiles][GGML_H2O_BLOCK] log-sum-exp of a query's logits, those of means with what they stand for
    float    * shift;  // [GGML_H2O_BLOCK] less the log-sum-exp of all that a query gives
    uint32_t * keys;   // [p.n_cand] scores as keys that order like them

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

    // the i-th query in lse; times d in q
    __device__ __forceinline__ int64_t row(const h2o_query_args & args, int i) const {
        const int query = args.order ? args.order[(int64_t) head*args.n_queries + query0 + i] : query0 + i;

        return (int64_t) query*args.n_head + head;
    }
};
