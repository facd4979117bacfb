// The intra cache of the two-pass schedule: what phase 1 leaves of every chunk for phase 2, per layer. It lives as long
// as one call. m and l only ever enter the fusion as m + log l, so one number per token and head is kept of them.

#pragma once

#include "h2o-policy.h"

//   intra_o      F32, or F16 if K or V is smaller [d_v*n_head, n_batch]
//   intra_lse    F32 [n_head, n_batch]
//   intra_votes  F32 [n_chunk, n_head_kv, n_chunks]
std::vector<h2o_tensor_spec> h2o_two_pass_tensors(const h2o_layer_shape & shape, uint32_t n_batch, uint32_t n_chunk);

// phase 1: keeps the intra attention of a batch of chunks, the first of which is ic
void h2o_store_intra(
        const h2o_layer & l, const h2o_plan & plan, const h2o_tensors & cache, int32_t ic, const h2o_attn_block & intra);

// phase 2: the intra attention of chunk ic as phase 1 left it
h2o_attn_block h2o_load_intra(const h2o_layer & l, const h2o_plan & plan, const h2o_tensors & cache, int32_t ic);
