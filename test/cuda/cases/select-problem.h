// Inputs of GGML_H2O_OP_SELECT and GGML_H2O_OP_LOOKUP, and what they come to by sets and a full sort.

#pragma once

#include "../ggml-h2o.h"

#include <algorithm>
#include <cstdint>
#include <vector>

struct select_problem {
    int n_head;
    int pos;
    int n_local;
    int n_heavy;

    ggml_h2o_tracked tracked;

    int n_mem_row;
    int n_chunk_row;

    std::vector<int32_t> mem_pos;     // [n_head][n_mem_row]
    std::vector<float>   mem_score;   // [n_head][n_mem_row]
    std::vector<float>   chunk_score; // [n_head][n_chunk_row]

    int n_set() const { return std::min(pos, n_local + n_heavy); }
};

// [n_head][n_set]
std::vector<int32_t> select_by_sets(const select_problem & p);
std::vector<float>   lookup_by_maps(const select_problem & p, const std::vector<int32_t> & set);
