// Everything that the patched llama.cpp asks of H2O, in the order in which a context meets it. Each function names its
// call site; with H2O off each does nothing, and what follows in the caller is stock. What llama_model::create_memory
// asks is in h2o-families.h. See patches/README.md.

#pragma once

#include "h2o-record.h"

#include "llama-graph.h"

struct llama_context_params;

// llama_context::llama_context, after n_batch and n_ubatch are final: the parameters go into cparams, resolved, with
// a warning if L or H had to be lowered
void h2o_init_cparams(llama_cparams & cparams, const llama_context_params & params, const llama_model & model);

// llama_context::llama_context, after the memory was made: the context's record
std::unique_ptr<h2o_record> h2o_create_record(
        const llama_model & model, llama_cparams & cparams, llama_memory_i * memory);

// llama_context::graph_max_nodes: nodes that a sparse graph needs on top of the stock budget
// throws std::runtime_error, naming -b, if there would be absurdly many
uint32_t h2o_graph_max_nodes(const h2o_record & h2o, const llama_context & lctx);

// llama_context::sched_reserve, before the last stock reservation: probes coverage and reserves the largest sparse
// graphs; throws std::runtime_error, naming -b, if they do not fit
void h2o_sched_reserve(h2o_record & h2o, llama_context & lctx, size_t * sizes);

// llm_graph_context::llm_graph_context: the graph of a sparse or exact call gets an input of its own
void h2o_build_inp(const llm_graph_context & g);

// llm_graph_result::can_reuse, before the inputs are asked: no graph serves a call that takes another path
bool h2o_can_reuse(const llm_graph_result & res, const llm_graph_params & params);

// llm_graph_context::build_lora_mm and build_lora_mm_id, after their product: our kernels may run it
void h2o_mark_linear(const llm_graph_context & g, ggml_tensor * mul_mat);

// llm_graph_context::build_attn, for a plain cache: whether this graph stores K and V; false in phase 2, whose tokens
// phase 1 has stored
bool h2o_stores_kv(const llm_graph_context & g);

// llm_graph_context::build_attn, in place of build_attn_mha: the attention of one layer of a sparse call, or the exact
// kernel's of a short dense one; null for stock's. A reservation of a sparse call leaves one stream of k and v
ggml_tensor * h2o_build_attn(
        const llm_graph_context & g,
        ggml_tensor             * q,
        ggml_tensor           * & k,
        ggml_tensor           * & v,
        ggml_tensor             * kq_b,
        ggml_tensor             * kq_mask,
        ggml_tensor             * sinks,
        float                     kq_scale,
        int                       il);

// llama_context::decode: whether the current ubatch is phase 1 of a call, whose outputs come with phase 2
bool h2o_defers_outputs(const llama_memory_context_i * mctx);

// llama_context::decode, after a ubatch succeeded: keeps its trace; true if it has no outputs to extract
bool h2o_ubatch_done(h2o_record & h2o, llama_context & lctx, const llama_memory_context_i * mctx);

// llama_context::decode, after all ubatches succeeded: records the call, the state moves on
void h2o_decode_done(h2o_record & h2o, const llama_batch & batch);

// llama_context::decode, after a ubatch failed or was aborted: the context holds whole calls only, or nothing
void h2o_decode_failed(h2o_record & h2o, const llama_batch & batch);
