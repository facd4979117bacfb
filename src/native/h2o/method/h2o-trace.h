// What every layer scored and kept, chunk by chunk, of the last sparse call: kept as tensors while its graphs run, then
// copied to the host. For introspection only.

#pragma once

#include "h2o-policy.h"

#include <deque>

class h2o_trace_log {
public:
    // of the calls to come
    h2o_trace_level level = H2O_TRACE_OFF;

    // while a graph is built: forgets the tensors of the one before
    void begin_graph();

    // keeps the tensors of one layer and chunk
    // n_heads: heads with sets of their own
    // set: empty if the chunk has no memory
    // ones: as h2o_build_mass takes them, for H2O_TRACE_MASS only
    void keep(
            const h2o_layer  & l,
            const h2o_plan   & plan,
            int32_t            ic,
            int64_t            n_heads,
            const h2o_set    & set,
            const h2o_scores & scores,
            ggml_tensor      * ones);

    // after the graph has run: copies what it kept behind the entries that are there
    void read();

    // after the call: entries by layer, then chunk
    void sort();
    void clear();

    const std::vector<h2o_trace> & get() const { return entries; }

private:
    struct node {
        h2o_trace     entry; // without its pointers
        ggml_tensor * mem_pos;
        ggml_tensor * order;
        ggml_tensor * mem_score;
        ggml_tensor * chunk_score;
        ggml_tensor * mass;
    };

    std::vector<node>      nodes;   // of the last sparse graph that was built, if its call is traced
    std::vector<h2o_trace> entries; // of the last call, or of the call in progress

    std::deque<std::vector<uint8_t>> data; // what they point to

    const void * copy(const ggml_tensor * t); // null for null
};
