// Inputs of GGML_H2O_OP_ATTN, and its three results.

#pragma once

#include "cache.h"

#include <memory>
#include <vector>

struct attn_shape {
    int d;
    int n_group;
    int n_queries; // of a chunk
    int n_keys;
    int n_head;
    int n_chunks;

    bool is_mma;
    bool wants_split; // of the votes over blocks: with many multiprocessors
    bool is_causal;
    bool has_set;
    bool has_prev;
    bool is_moved;
    bool v_trans;
    bool is_large; // logits to a hundred and more
    bool is_wide;  // values past F16's range

    ggml_type type_k;
    ggml_type type_v;

    int    n_rows()  const { return n_queries*n_group; }
    size_t n_state() const { return (size_t) n_rows()*n_head*n_chunks; }
    size_t n_votes() const { return (size_t) n_keys*n_head*n_chunks; }
};

struct attn_problem {
    attn_shape shape;

    float scale;
    int   cell0;   // of the first key, without a set
    int   n_cells; // of the cache

    std::vector<float>          q; // [n_chunks][n_queries][n_head][n_group][d]
    std::unique_ptr<test_cache> k;
    std::unique_ptr<test_cache> v;
    std::vector<int32_t>        set; // [n_head][n_keys]
    std::vector<float>          o_prev;
    std::vector<float>          lse_prev;

    attn_problem(const attn_shape & shape, emu_random & rnd);

    int cell(int chunk, int head, int key) const {
        return shape.has_set ? set[(size_t) head*shape.n_keys + key] : cell0 + chunk*shape.n_keys + key;
    }
};

template <typename T>
struct attn_result {
    std::vector<T> o;     // as q
    std::vector<T> lse;   // [n_chunks][n_queries][n_head][n_group]
    std::vector<T> votes; // [n_chunks][n_head][n_keys]
};

attn_result<float>  attn_by_kernels(const attn_problem & p, bool votes = true);
attn_result<double> attn_by_loops  (const attn_problem & p);
