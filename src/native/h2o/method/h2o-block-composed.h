// Attention over given keys as a graph of stock ops; its parts, for tests and for what else needs them.

#pragma once

#include "h2o-block.h"

// products with the cap applied, and the factor that makes logits of them
ggml_tensor * h2o_build_cap(ggml_context * ctx, ggml_tensor * kq, const h2o_softmax & softmax);
float         h2o_scale(const h2o_softmax & softmax);

// q [d_k, rows, n_head_kv, n_chunks], k [d_k, n_keys, ...], v_t [n_keys, d_v, ...], mask [n_keys, rows] or null
// ones: null leaves votes null; hidden: null, or F32 that is added to the logits before they are scaled, of every row alike
h2o_attn_block h2o_build_attn_block(
        ggml_context      * ctx,
        ggml_tensor       * q,
        ggml_tensor       * k,
        ggml_tensor       * v_t,
        ggml_tensor       * mask,
        ggml_tensor       * ones,
        const h2o_softmax & softmax,
        ggml_tensor       * hidden = nullptr);

// exact merge of two normalised outputs over disjoint keys (README.md, rule 6); a side with lse = -inf does not count
ggml_tensor * h2o_build_fuse(
        ggml_context * ctx,
        ggml_tensor  * o_a,
        ggml_tensor  * lse_a,
        ggml_tensor  * o_b,
        ggml_tensor  * lse_b);

// the log-sum-exp over two disjoint sets of keys
ggml_tensor * h2o_build_lse(ggml_context * ctx, ggml_tensor * lse_a, ggml_tensor * lse_b);

// attention over what sets of blocks leave out, alone: q, o and lse as a composed block has them, but in the order that blocks are
// cut from
h2o_attn_block h2o_build_estimates(const h2o_layer & l, ggml_tensor * q, const h2o_set & set);
