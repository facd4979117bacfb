// Blocks of queries: where their sets are, and which queries are theirs. For every kernel that reads sets of the policy `query`.

#pragma once

#include "ggml.h"

#include <cstdint>

// the is-th set of a head
static inline int32_t * h2o_block_set(const ggml_tensor * sets, int64_t ih, int64_t is) {
    return (int32_t *) ((char *) sets->data + ih*sets->nb[1] + is*sets->nb[2]);
}

// the query of a head at a place that blocks are cut from; order: I32 [n_queries, n_head], or null: each is at its own
static inline int64_t h2o_block_query(const ggml_tensor * order, int64_t ih, int64_t place) {
    return order ? ((const int32_t *) order->data)[ih*order->ne[0] + place] : place;
}
