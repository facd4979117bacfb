// What a sparse graph gets beside the inputs of its family of memories, whose [n_kv, n_tokens] mask it leaves unused: the
// one object that owns everything a sparse graph depends on, so that it decides whether the graph may run again
// (README.md, "State").

#pragma once

#include "h2o-plan.h"

#include "llama-graph.h"

#include <map>
#include <set>
#include <utility>

class h2o_cache;
class h2o_sparse_context;

class llm_graph_input_h2o : public llm_graph_input_i {
public:
    llm_graph_input_h2o(const llm_graph_context & g, const h2o_sparse_context & sparse);

    void set_input(const llama_ubatch * ubatch) override;

    bool can_reuse(const llm_graph_params & params) override;

    const h2o_plan plan;

    h2o_cache & cache;

    const uint32_t n_kv;

    // For attention as a graph of stock ops: visibility inside a chunk of n_keys tokens, F16 [n_keys, n_group*n_keys],
    // key j for the rows of token i >= j. Row = token*n_group + head of the group.
    ggml_tensor * get_mask(ggml_context * ctx, int64_t n_keys, int64_t n_group) const;

    // the right-hand side of column sums, as many as any layer needs: F32 [n_head*n_chunk*n_batched_chunks]; null where
    // this graph has no use for it
    ggml_tensor * ones = nullptr;

    // layers that were built; the coverage probe wants all of them
    mutable std::set<int32_t> built;

private:
    mutable std::map<std::pair<int64_t, int64_t>, ggml_tensor *> masks; // by n_keys and n_group
};
