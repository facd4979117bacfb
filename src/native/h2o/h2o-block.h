// Attention of queries over given keys, in one layer: over their own chunk (intra), or over a set of positions that
// somebody chose (inter), and the exact merge of both. Each block is one GGML_OP_H2O where the devices have it, else a
// graph of stock ggml ops: the portable path, and the oracle for the fused kernels. Knows no policy and no cache.

#pragma once

#include "ggml.h"

#include <initializer_list>

// Attention of a block of queries over a block of keys: the online-softmax state and the votes.
// rows = n_group*n_queries; ne[2] = n_head_kv; ne[3] = chunks.
// The fused op gives o and lse by token and head: [d_v, n_head, n_queries, n_chunks], [1, n_head, n_queries, n_chunks]
struct h2o_attn_block {
    ggml_tensor * o;     // F32 [d_v, rows, n_head_kv, n_chunks] normalised output
    ggml_tensor * lse;   // F32 [1,   rows, n_head_kv, n_chunks] m + log(l)
    ggml_tensor * votes; // F32 [n_keys, 1, n_head_kv, n_chunks] column sums of the weights, over the group and all
                         // queries; null unless somebody wants votes
};

// how the products of queries and keys become weights
struct h2o_softmax {
    float         scale;
    float         cap   = 0.0f;    // logits become cap*tanh(logit/cap); 0: they stay
    ggml_tensor * sinks = nullptr; // F32 [n_head] one more logit of each head, with a value of zero; null: none
};

// one layer of one graph
struct h2o_layer {
    ggml_context * ctx;
    ggml_cgraph  * gf;

    ggml_tensor * q; // [d_k, n_head, n_tokens] as handed to build_attn_mha; contiguous F32 if is_fused
    ggml_tensor * k; // as llama_kv_cache::get_k and get_v return them
    ggml_tensor * v;

    h2o_softmax softmax;

    int     il;
    int64_t n_group; // query heads per KV head

    bool is_fused; // knows no cap, and no votes where there are sinks
    bool with_votes;

    // the right-hand side of column sums; null if fused, or without votes
    ggml_tensor * ones; // F32 [n_head*n_chunk*n_batched_chunks], or more
};

// products of n_logits each that make one tensor: it stays below 256 MiB
int64_t h2o_n_batched(int64_t n_logits);

// composed: chunks whose intra attention is one batched product
int64_t h2o_n_chunks_batched(int64_t n_chunk, int64_t n_head);

// Puts tensors into the graph, those that are not null. Left to the end, a depth-first walk would build the whole chain
// of chunks first and keep the logits of every block alive.
void h2o_expand(const h2o_layer & l, std::initializer_list<ggml_tensor *> tensors);

// the queries of n_chunks chunks of n_queries tokens, from a token of this graph on
// fused: [d, n_head, n_queries, n_chunks]; composed: [d, rows, n_head_kv, n_chunks]
ggml_tensor * h2o_build_queries(const h2o_layer & l, int64_t token, int64_t n_queries, int64_t n_chunks);

// o or lse of a block by token: [d*n_head, n_tokens]
ggml_tensor * h2o_by_token(const h2o_layer & l, ggml_tensor * t);

// attention of n_chunks chunks of n queries, each over the n_near cells before it, all of them, and over its own,
// causal; the first chunk begins at cell pos. The sinks belong to this block and to no other: what is merged with it
// counts them once.
// mask: composed only, F16 [n, n_group*n], key j for the rows of query i >= j
// votes: of the chunk's own cells; null if n_near > 0
h2o_attn_block h2o_build_intra(
        const h2o_layer & l,
        ggml_tensor     * q,
        int64_t           pos,
        int64_t           n_near,
        int64_t           n,
        int64_t           n_chunks,
        ggml_tensor     * mask);

// attention of one chunk over a set of cells, merged with what came out over other keys: I32 [n_mem, n_head_kv, 1], one
// for all queries of a group, or [n_mem, n_head, n_sets], one for each head and block of GGML_H2O_BLOCK queries
// q, o, lse as in a block, of one chunk -> o is that of all keys; lse and votes are of the set alone
h2o_attn_block h2o_build_inter(
        const h2o_layer & l, ggml_tensor * q, ggml_tensor * set, ggml_tensor * o, ggml_tensor * lse);

//
// composed of stock ops; also for tests
//

// products with the cap applied, and the factor that makes logits of them
ggml_tensor * h2o_build_cap(ggml_context * ctx, ggml_tensor * kq, const h2o_softmax & softmax);
float         h2o_scale(const h2o_softmax & softmax);

// q [d_k, rows, n_head_kv, n_chunks], k [d_k, n_keys, ...], v_t [n_keys, d_v, ...], mask [n_keys, rows] or null
// ones: null leaves votes null
h2o_attn_block h2o_build_attn_block(
        ggml_context      * ctx,
        ggml_tensor       * q,
        ggml_tensor       * k,
        ggml_tensor       * v_t,
        ggml_tensor       * mask,
        ggml_tensor       * ones,
        const h2o_softmax & softmax);

// exact merge of two normalised outputs over disjoint keys (README.md, rule 6); a side with lse = -inf does not count
ggml_tensor * h2o_build_fuse(
        ggml_context * ctx,
        ggml_tensor  * o_a,
        ggml_tensor  * lse_a,
        ggml_tensor  * o_b,
        ggml_tensor  * lse_b);
