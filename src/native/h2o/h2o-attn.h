// H2O attention of one layer. Each block of attention is one GGML_OP_H2O where the devices have it, else a graph of stock
// ggml ops: the portable path, and the oracle for the fused kernels. It takes the place of
// llm_graph_context::build_attn_mha and nothing else.

#pragma once

#include "h2o-graph-input.h"

#include <stdexcept>

// thrown while a sparse graph is built for a model that asks for more than plain attention; only the probe can meet it
struct h2o_not_covered : std::runtime_error {
    h2o_not_covered() : std::runtime_error("this model's attention is not covered by H2O") {}
};

// products of n_logits each that make one tensor: it stays below 256 MiB
int64_t h2o_n_batched(int64_t n_logits);

// composed: chunks whose intra attention is one batched product
int64_t h2o_n_chunks_batched(int64_t n_chunk, int64_t n_head);

// q [d_k, n_head, n_tokens] as handed to build_attn_mha; k and v as llama_kv_cache::get_k and get_v return them
// -> [d_v*n_head, n_tokens]
ggml_tensor * h2o_build_attn_layer(
        const llm_graph_context        & g,
        const llm_graph_input_attn_h2o & inp,
        ggml_tensor                    * q,
        ggml_tensor                    * k,
        ggml_tensor                    * v,
        float                            kq_scale,
        int                              il);

//
// building blocks, composed of stock ops; also for tests
//

// attention of a block of queries over a block of keys: the online-softmax state and the votes
// rows = n_group*n_queries; ne[2] = n_head_kv; ne[3] = chunks. Of the fused op, o and lse are by token and head instead:
// [d_v, n_head, n_queries, n_chunks] and [1, n_head, n_queries, n_chunks]
struct h2o_attn_block {
    ggml_tensor * o;     // F32 [d_v, rows, n_head_kv, n_chunks] normalised output
    ggml_tensor * lse;   // F32 [1,   rows, n_head_kv, n_chunks] m + log(l)
    ggml_tensor * votes; // F32 [n_keys, 1, n_head_kv, n_chunks] column sums of the weights, over the group and all queries
};

// q [d_k, rows, n_head_kv, n_chunks], k [d_k, n_keys, ...], v_t [n_keys, d_v, ...], mask [n_keys, rows] or null
h2o_attn_block h2o_build_attn_block(
        ggml_context * ctx,
        ggml_tensor  * q,
        ggml_tensor  * k,
        ggml_tensor  * v_t,
        ggml_tensor  * mask,
        ggml_tensor  * ones,
        float          kq_scale);

// exact merge of two normalised outputs over disjoint keys (section 2, rule 6); a side with lse = -inf does not count
ggml_tensor * h2o_build_fuse(
        ggml_context * ctx,
        ggml_tensor  * o_a,
        ggml_tensor  * lse_a,
        ggml_tensor  * o_b,
        ggml_tensor  * lse_b);
