// The method's order in one layer: intra attention of the graph's chunks, then chunk by chunk set, inter, fuse, learn.
// It takes the place of llm_graph_context::build_attn_mha and nothing else.

#pragma once

#include "h2o-block.h"
#include "h2o-graph-input.h"

// q [d_k, n_head, n_tokens] as handed to build_attn_mha; k and v as llama_kv_cache::get_k and get_v return them
// owner: the layer that stores k and v: il, or the one whose memory il reads
// -> [d_v*n_head, n_tokens]
ggml_tensor * h2o_build_attn_layer(
        const llm_graph_context   & g,
        const llm_graph_input_h2o & inp,
        ggml_tensor               * q,
        ggml_tensor               * k,
        ggml_tensor               * v,
        const h2o_softmax         & softmax,
        int32_t                     il,
        int32_t                     owner);
