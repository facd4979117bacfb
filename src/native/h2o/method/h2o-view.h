// Views of queries, results and the KV cache, as the two ways to compute attention want them: by token and head for the
// fused op, with the query heads of a group folded into the rows for a graph of stock ops.

#pragma once

#include "ggml.h"

// tokens [token, token + n_queries*n_chunks) of a tensor by token and head, with the group folded into the rows
// [d, n_head, n_tokens] -> F32 [d, n_group*n_queries, n_head_kv, n_chunks]
ggml_tensor * h2o_fold(
        ggml_context * ctx, ggml_tensor * t, int64_t n_group, int64_t token, int64_t n_queries, int64_t n_chunks);

// the inverse: [d, n_group*n_queries, n_head_kv, n_chunks] -> [d*n_head, n_queries*n_chunks]
ggml_tensor * h2o_unfold(ggml_context * ctx, ggml_tensor * t, int64_t n_group);

// the same tokens for the fused op: contiguous [d, n_head, n_tokens] -> [d, n_head, n_queries, n_chunks]
ggml_tensor * h2o_view_tokens(ggml_context * ctx, ggml_tensor * t, int64_t token, int64_t n_queries, int64_t n_chunks);

// one chunk of a batch: [.., .., .., n_chunks] -> [.., .., ..]
ggml_tensor * h2o_view_chunk(ggml_context * ctx, ggml_tensor * t, int32_t i);

// k and v as llama_kv_cache::get_k and get_v return them: [d, n_head_kv, n_kv]; a transposed V: [n_kv, n_head_kv, d]
bool h2o_is_transposed(const ggml_tensor * v);

// n_keys cells from pos on for each chunk, n_step cells behind those of the chunk before it, in place
// -> [d_k, n_keys, n_head_kv, n_chunks]
ggml_tensor * h2o_view_k(
        ggml_context * ctx, ggml_tensor * k, int64_t pos, int64_t n_keys, int64_t n_step, int64_t n_chunks);

// the same cells of V, keys first -> [n_keys, d_v, n_head_kv, n_chunks]; in place if the cache is transposed
ggml_tensor * h2o_view_v_t(
        ggml_context * ctx, ggml_tensor * v, int64_t pos, int64_t n_keys, int64_t n_step, int64_t n_chunks);

// all cells by KV head -> [d, n_kv, n_head_kv]; transposed, [n_kv, d, n_head_kv]
ggml_tensor * h2o_view_cells(ggml_context * ctx, ggml_tensor * kv);

// the members of a set, per KV head: set I32 [n_mem, n_head_kv] -> [d_k, n_mem, n_head_kv] in the type of the cache:
// the values fit it exactly, and q is then rounded as in the intra product
ggml_tensor * h2o_gather_k(ggml_context * ctx, ggml_tensor * k, ggml_tensor * set);

// -> F32 [n_mem, d_v, n_head_kv]
ggml_tensor * h2o_gather_v_t(ggml_context * ctx, ggml_tensor * v, ggml_tensor * set);

// queries of each head, or what belongs to them, in another order: t [d, n_head, n_queries], order I32 [n_queries, n_head]
// -> [d, n_head, n_queries], at place i that of query order[i]
ggml_tensor * h2o_reorder(ggml_context * ctx, ggml_tensor * t, ggml_tensor * order);

// the order that undoes another
ggml_tensor * h2o_inverse_order(ggml_context * ctx, ggml_tensor * order);
