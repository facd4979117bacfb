// Inputs of GGML_H2O_OP_ATTN, and its three results.

#pragma once

#include "cache.h"

#include "../ggml-h2o.h"

#include <memory>
#include <vector>

struct attn_shape {
    int d;
    int n_group;
    int n_queries; // of a chunk
    int n_near; // keys before the queries, of n_keys; causal only
    int n_keys;
    int n_head;
    int n_chunks;

    bool is_mma;
    bool wants_split; // of the votes over blocks: with many multiprocessors
    bool is_causal;
    bool has_set;
    bool has_blocks; // a set for each query head and block of queries, and no votes
    bool has_prev;
    bool is_moved;
    bool v_trans;
    bool is_large; // logits to a hundred and more
    bool is_wide;  // values past F16's range
    bool has_nan;  // a channel of the first query

    ggml_type type_k;
    ggml_type type_v;

    int    n_rows()  const { return n_queries*n_group; }
    size_t n_state() const { return (size_t) n_rows()*n_head*n_chunks; }
    size_t n_votes() const { return has_blocks ? 0 : (size_t) n_keys*n_head*n_chunks; }
    int    n_sets()  const { return has_blocks ? (n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK : 1; }
    int    n_set_heads() const { return has_blocks ? n_head*n_group : n_head; }

    // cells from chunk to chunk
    int stride() const { return is_causal ? n_queries : n_keys; }
};

struct attn_problem {
    attn_shape shape;

    float scale;
    int   cell0;   // of the first key, without a set
    int   n_cells; // of the cache

    std::vector<float>          q; // [n_chunks][n_queries][n_head][n_group][d]
    std::unique_ptr<test_cache> k;
    std::unique_ptr<test_cache> v;
    std::vector<int32_t>        set; // [n_sets][n_set_heads][n_keys]
    std::vector<float>          o_prev;
    std::vector<float>          lse_prev;

    attn_problem(const attn_shape & shape, case_random & rnd);

    // of the head ig of a group
    int cell(int chunk, int head, int ig, int query, int key) const {
        const int i_set  = shape.has_blocks ? query/GGML_H2O_BLOCK : 0;
        const int i_head = shape.has_blocks ? head*shape.n_group + ig : head;

        return shape.has_set ? set[((size_t) i_set*shape.n_set_heads() + i_head)*shape.n_keys + key]
                             : cell0 + chunk*shape.stride() + key;
    }
};

template <typename T>
struct attn_result {
    std::vector<T> o;     // as q
    std::vector<T> lse;   // [n_chunks][n_queries][n_head][n_group]
    std::vector<T> votes; // [n_chunks][n_head][n_keys]
};

attn_result<float>  attn_by_kernels(const attn_problem & p, bool votes);
attn_result<double> attn_by_loops  (const attn_problem & p);
