// The attention input of a sparse call: the plain KV input without the [n_kv, n_tokens] mask, and the one object that
// owns everything a sparse graph depends on, so that it alone decides whether the graph may run again (README.md,
// "State").

#pragma once

#include "h2o-plan.h"

#include "llama-graph.h"

class h2o_cache;
class h2o_sparse_context;

class llm_graph_input_attn_h2o : public llm_graph_input_attn_kv {
public:
    llm_graph_input_attn_h2o(const llm_graph_context & g, const h2o_sparse_context & sparse);

    void set_input(const llama_ubatch * ubatch) override;

    bool can_reuse(const llm_graph_params & params) override;

    const h2o_plan plan;

    h2o_cache & cache;

    const uint32_t n_kv;

    // query heads per KV head; a graph of stock ops folds them into the rows of the group, row = token*n_group + head
    const int64_t n_group;

    // for attention as a graph of stock ops, the ones for a trace of the mass too; null where this graph has no use for
    // it

    // visibility inside a chunk: key j for the rows of token i >= j
    ggml_tensor * mask_full = nullptr; // F16 [n_chunk, n_group*n_chunk]
    ggml_tensor * mask_tail = nullptr; // F16 [n_tail,  n_group*n_tail]

    // ones, the right-hand side of column sums
    ggml_tensor * ones = nullptr; // F32 [n_group*n_chunk*n_head_kv*n_batched_chunks]

    // layers that were built on this input; the coverage probe wants all of them
    mutable int32_t n_layers_built = 0;
};
