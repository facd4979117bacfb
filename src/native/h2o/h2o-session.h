// What a llama_context knows of H2O: whether its model and parameters are covered, what the last call did, and the
// numbers that h2o_get_info reports. Every context has one.

#pragma once

#include "h2o-kv-cache.h"

#include <vector>

struct h2o_session {
    // why no call can be sparse, or H2O_REASON_NONE
    h2o_reason reason = H2O_REASON_OFF;

    // null unless the memory is a llama_kv_cache_h2o
    llama_kv_cache_h2o * cache = nullptr;

    bool     has_call = false;
    h2o_call last     = {};

    int32_t n_nodes     = 0; // of the largest reserved sparse graph
    size_t  size_sparse = 0; // bytes of compute buffers that it needs

    h2o_count counts[H2O_REASON_COUNT] = {};

    // the trace of the last call, or of the call in progress; h2o_trace points into it
    struct trace_entry {
        h2o_trace_node       node;
        std::vector<int32_t> mem_pos;
        std::vector<float>   mem_score;
        std::vector<float>   chunk_score;
        std::vector<float>   mass;
        int32_t              n_head_kv;
    };
    std::vector<trace_entry> trace;

    // copies what the graph that has just run was asked to keep
    void read_trace();
};

// the next sched_reserve() of the context reserves its graphs, which have other nodes now
void h2o_ask_reserve(llama_context & ctx);
