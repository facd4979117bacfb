// The sparse graphs of a context, built once when it is made: do they show that the model is covered, and what do they
// need?

#pragma once

#include "h2o.h"

#include <cstddef>
#include <set>
#include <stdexcept>

struct llama_context;

class h2o_cache;

// thrown while a sparse graph is built for a model that asks for more than plain attention; only the probe can meet it
struct h2o_not_covered : std::runtime_error {
    h2o_not_covered() : std::runtime_error("this model's attention is not covered by H2O") {}
};

struct h2o_probe_result {
    h2o_reason reason  = H2O_REASON_NONE; // why the model is not covered after all
    int32_t    n_nodes = 0;               // of the largest graph
    size_t     size    = 0;               // bytes of compute buffers that it needs
    double     flops   = 0.0;             // of its products with weights, per token

    std::set<int32_t> layers; // built through the hook
};

// Builds and reserves the largest sparse graphs. sizes: by backend, raised to what they need.
// throws std::runtime_error, naming -b, if they do not fit
h2o_probe_result h2o_probe(llama_context & lctx, h2o_cache & cache, size_t * sizes);

// nodes that a sparse graph needs on top of the stock budget
// throws std::runtime_error, naming -b, if there would be absurdly many
uint32_t h2o_max_nodes(const llama_context & lctx, const h2o_cache & cache);
