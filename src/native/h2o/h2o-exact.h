// The exact kernel in a graph: attention of a short dense call over the whole cache, in place of stock's. The ordinary mask
// says who sees whom, so windows, holes and rings of cells need no care, and a graph serves as many calls as stock's does.

#pragma once

#include "h2o-block.h"

#include "llama-graph.h"

struct llama_cparams;
struct llama_model;

class llama_kv_cache;

// A graph that takes the exact kernel. It has no data: what the kernel reads are stock's inputs.
class llm_graph_input_h2o_exact : public llm_graph_input_i {
public:
    void set_input(const llama_ubatch * ubatch) override { GGML_UNUSED(ubatch); }

    // beside what h2o_can_reuse asks
    bool can_reuse(const llm_graph_params & params) override { GGML_UNUSED(params); return true; }
};

// whether it runs in some layer of this cache: where K and V are on the CPU
bool h2o_has_exact(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn);

// q, k, v and the mask as build_attn hands them to build_attn_mha -> [d_v*n_head, n_tokens], or null: K and V are elsewhere,
// or there are too many tokens, as in a graph that is only reserved
ggml_tensor * h2o_build_exact(
        ggml_context      * ctx,
        ggml_tensor       * q,
        ggml_tensor       * k,
        ggml_tensor       * v,
        ggml_tensor       * mask,
        const h2o_softmax & softmax);
