// What dense attention would have looked at: how the full causal softmax of a chunk's queries spreads over all
// positions up to the end of the chunk, per head. For introspection only (H2O_TRACE_MASS): it is the very work that
// the sparse path saves.

#pragma once

#include "h2o-block.h"

// nodes that h2o_build_mass adds to a graph, at most
int64_t h2o_mass_max_nodes(int64_t n_queries, int64_t n_per_sum, int64_t n_keys, int64_t n_head);

// q [d_k, n_head, n_queries] of neighbouring positions from pos on, as handed to build_attn_mha; k as
// llama_kv_cache::get_k returns it; ones: n_head*n_queries of them or more
// order: which query is at each place (ggml_h2o_order); null: each at its own
// -> F32 [pos + n_queries, n_heads, n_sums] column sums of the weights over each n_per_sum of the places, the last ones
// may be fewer, and over neighbouring query heads, so that n_heads are left. Puts its nodes into the graph as it goes, so
// that the logits of one slice of queries are alive at a time.
ggml_tensor * h2o_build_mass(
        ggml_context      * ctx,
        ggml_cgraph       * gf,
        ggml_tensor       * q,
        ggml_tensor       * order,
        ggml_tensor       * k,
        ggml_tensor       * ones,
        const h2o_softmax & softmax,
        int64_t             n_heads,
        int64_t             pos,
        int64_t             n_per_sum);
