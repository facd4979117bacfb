// What the graphs of a sparse call are made with. The cache owns it and hands it down, so that nothing of the method knows
// the cache.

#pragma once

#include "h2o-policy.h"
#include "h2o-store.h"
#include "h2o-trace.h"

struct h2o_engine {
    const std::unique_ptr<h2o_policy> policy;
    const h2o_store                   store;
    const h2o_block                 & block; // fused, or a graph of stock ops
    h2o_trace_log                     trace;
};

// One graph of a sparse call, as its input asks for it: the memory context of a family.
class h2o_sparse_graph {
public:
    virtual ~h2o_sparse_graph() = default;

    virtual h2o_engine     & get_engine() const = 0;
    virtual const h2o_plan * get_plan()   const = 0; // null where the graph is that of a dense sequence of the call
    virtual uint32_t         get_n_kv()   const = 0; // cells that attention sees
};
