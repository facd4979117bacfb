// The selection policy on one KV head: which positions the next chunk remembers, and with which scores.
// Plain arrays in and out, no ggml graph: README.md, rules 3 and 5.

#pragma once

#include "../ggml-h2o.h"

#include <cstddef>
#include <cstdint>

struct h2o_tracked_head {
    const int32_t * mem_pos;     // [n_mem] ascending
    const float   * mem_score;   // [n_mem]
    const float   * chunk_score; // [n_chunk]

    ggml_h2o_tracked n;
};

// keys [n] that order like the scores; NaN counts as -inf
void h2o_order_keys(const float * scores, int64_t n, int32_t * keys);

// how many of n keys are `least` or more
int64_t h2o_count_from(const int32_t * keys, int64_t n, int32_t least);

// the largest key that n_take of n keys reach; 0 < n_take < n
int32_t h2o_least_of_best(const int32_t * keys, int64_t n, int64_t n_take);

// The n_take best of n keys, by index, ascending; ties go to the lower index. Returns how many these are.
int64_t h2o_take_best(const int32_t * keys, int64_t n, int64_t n_take, int32_t * out);

// The same where `least` is known: the largest key that n_take of n keys reach.
int64_t h2o_take_from(const int32_t * keys, int64_t n, int32_t least, int64_t n_take, int32_t * out);

// of so many candidates
static inline size_t h2o_select_work_size(int64_t n) {
    return n*(sizeof(float) + 3*sizeof(int32_t));
}

// out [min(pos, n_local + n_heavy)] ascending; work is of n_mem + n_chunk candidates
void h2o_select_head(
        const h2o_tracked_head   & tracked,
        const ggml_h2o_op_params & params,
        void                     * work,
        int32_t                  * out);

// out [n_set]: the score of each position of the ascending set, 0 if it is not tracked
void h2o_lookup_head(
        const h2o_tracked_head & tracked,
        const int32_t          * set,
        int64_t                  n_set,
        float                  * out);
