// The selection policy on one KV head: which positions the next chunk remembers, and with which scores.
// Plain arrays in and out, no ggml graph: README.md, rules 3 and 5.

#pragma once

#include "../ggml-h2o.h"

#include <cstdint>

struct h2o_tracked_head {
    const int32_t * mem_pos;     // [n_mem] ascending
    const float   * mem_score;   // [n_mem]
    const float   * chunk_score; // [n_chunk]

    ggml_h2o_tracked n;
};

struct h2o_candidate {
    float   score;
    int32_t pos;
};

// NaN must order like -inf: a comparison that is not a strict weak order is undefined behaviour in std::nth_element
float h2o_order_key(float score);

// the n_take best of n to the front, ascending; ties to the lower position. Returns how many these are
int64_t h2o_take_best(h2o_candidate * c, int64_t n, int64_t n_take);

// out [min(pos, n_local + n_heavy)] ascending; work holds n_mem + n_chunk candidates
void h2o_select_head(
        const h2o_tracked_head   & tracked,
        const ggml_h2o_op_params & params,
        h2o_candidate            * work,
        int32_t                  * out);

// out [n_set]: the score of each position of the ascending set, 0 if it is not tracked
void h2o_lookup_head(
        const h2o_tracked_head & tracked,
        const int32_t          * set,
        int64_t                  n_set,
        float                  * out);
