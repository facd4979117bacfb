// What a llama_context knows of H2O: whether its model and parameters are covered, what the last call did, and the
// numbers that h2o_get_info reports. Every context has one; the C interface of h2o.h reads it.

#pragma once

#include "h2o.h"

#include <set>

class h2o_cache;

struct h2o_record {
    // why no call can be sparse, or H2O_REASON_NONE
    h2o_reason reason = H2O_REASON_OFF;

    // the H2O side of the context's memory, or null
    h2o_cache * cache = nullptr;

    bool     has_call = false;
    h2o_call last     = {};

    int32_t n_nodes      = 0;   // of the largest reserved sparse graph
    size_t  size_sparse  = 0;   // bytes of compute buffers that it needs
    double  flops_linear = 0.0; // of its products with weights, per token

    std::set<int32_t> layers; // those that attend to what H2O chooses

    h2o_count counts[H2O_REASON_COUNT] = {};
    h2o_count exact                    = {}; // of the dense ones
    h2o_count decode                   = {}; // of these, those of sparse decoding
};
