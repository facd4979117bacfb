// What a sparse graph gets beside the inputs of its family of memories, whose [n_kv, n_tokens] mask it leaves unused:
// the one object that owns everything a sparse graph depends on, so that it decides whether the graph may run again
// (README.md, "State").

#pragma once

#include "h2o-plan.h"

#include "llama-graph.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

struct h2o_engine;
class h2o_sparse_graph;

class llm_graph_input_h2o : public llm_graph_input_i {
public:
    llm_graph_input_h2o(const llm_graph_context & g, const h2o_sparse_graph & sparse);

    void set_input(const llama_ubatch * ubatch) override;

    bool can_reuse(const llm_graph_params & params) override;

    const h2o_plan plan;

    h2o_engine & engine;

    const uint32_t n_kv;

    // For attention as a graph of stock ops: visibility inside a chunk of n_keys tokens, F16 [n_keys, n_group*n_keys],
    // key j for the rows of token i >= j. Row = token*n_group + head of the group.
    ggml_tensor * get_mask(ggml_context * ctx, int64_t n_keys, int64_t n_group) const;

    // the right-hand side of column sums, as many as any layer needs: F32 [n_head*n_chunk*n_batched_chunks]; null where
    // this graph has no use for it
    ggml_tensor * ones = nullptr;

    // The layer that stores what layer il reads as k: il itself, or one that was built before; -1 if H2O serves neither
    int32_t find_owner(const ggml_tensor * k, int32_t il) const;

    // memory sets that were built, by layer that stores keys and values and by chunk of the graph, null for a chunk
    // without one; the coverage probe wants all such layers
    mutable std::map<int32_t, std::vector<ggml_tensor *>> sets;

    // layers that were built, with those that read the cache of another
    mutable std::set<int32_t> built;

private:
    mutable std::map<const ggml_tensor *, int32_t> owners; // by the tensor of the cache that holds their keys

    mutable std::map<std::pair<int64_t, int64_t>, ggml_tensor *> masks; // by n_keys and n_group
};
