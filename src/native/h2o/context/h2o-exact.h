// H2O's kernel in a graph: attention of a short dense call over the whole cache, in place of stock's, or in sparse decoding over
// the keys that its queries choose of it. The ordinary mask says who sees whom, so windows, holes and rings of cells need no
// care, and a graph serves as many calls as stock's does.

#pragma once

#include "h2o-block.h"

#include "llama-graph.h"

#include <map>

class h2o_cache;

// A graph that takes the kernel. What it reads are stock's inputs, and in sparse decoding which pages of the index of signs are
// to be made.
class llm_graph_input_h2o_exact : public llm_graph_input_i {
public:
    llm_graph_input_h2o_exact(ggml_context * ctx, const h2o_cache & cache);

    void set_input(const llama_ubatch * ubatch) override;

    // beside what h2o_can_reuse asks
    bool can_reuse(const llm_graph_params & params) override;

    // The index of the keys that layer il reads, grown: its own or that of a layer that was built before. Null where the layer
    // has none, as it has a window, or nothing chooses
    ggml_tensor * build_signs(ggml_context * ctx, ggml_tensor * k, int32_t il) const;

    const h2o_cache & cache;

    const int32_t n_decode; // keys that a query head chooses; 0: it reads all of them
    const int32_t stream;   // of the index, in sparse decoding

    ggml_tensor * range = nullptr; // I32 [2] pages; null if n_decode is 0

private:
    mutable std::map<const ggml_tensor *, ggml_tensor *> signs; // by the tensor of the cache that holds the keys
};

// q, k, v and the mask as build_attn hands them to build_attn_mha -> [d_v*n_head, n_tokens], or null: K and V are elsewhere
ggml_tensor * h2o_build_exact(
        ggml_context                    * ctx,
        const llm_graph_input_h2o_exact & inp,
        ggml_tensor                     * q,
        ggml_tensor                     * k,
        ggml_tensor                     * v,
        ggml_tensor                     * mask,
        const h2o_softmax               & softmax,
        int32_t                           il);
