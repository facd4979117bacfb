// Attention of queries over given keys, in one layer: over their own chunk (intra), or over a set of positions that
// somebody chose (inter), and the exact merge of both. There are two ways to it: h2o-block-fused, one GGML_OP_H2O each,
// where the devices have it; and h2o-block-composed, a graph of stock ggml ops: the portable path, and the oracle for the
// fused kernels. To follow the method it is enough to read one. Knows no policy and no cache.

#pragma once

#include "ggml.h"

#include <initializer_list>

class h2o_block;

// Attention of a block of queries over a block of keys: the online-softmax state and the votes.
// fused:    o [d_v, n_head, n_queries, n_chunks],         lse [1, n_head, n_queries, n_chunks]
// composed: o [d_v, n_group*n_queries, n_head_kv, n_chunks], lse [1, n_group*n_queries, n_head_kv, n_chunks]
struct h2o_attn_block {
    ggml_tensor * o;     // F32, normalised output
    ggml_tensor * lse;   // F32, m + log(l)
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

    ggml_tensor * q; // [d_k, n_head, n_tokens] as handed to build_attn_mha, then h2o_block::take
    ggml_tensor * k; // as llama_kv_cache::get_k and get_v return them
    ggml_tensor * v;

    h2o_softmax softmax;

    int     il;
    int64_t n_group; // query heads per KV head

    const h2o_block & block; // how attention is computed
    bool              with_votes;

    // the right-hand side of column sums; null if fused, or without votes
    ggml_tensor * ones; // F32 [n_head*n_chunk*n_batched_chunks], or more
};

// What sets of blocks leave out of the candidates [0, n_cand), as the means of pages (README.md, "Estimates"); null: nothing
struct h2o_left_out {
    ggml_tensor * keys;   // F32 [d_k, n_pages, n_head_kv]
    ggml_tensor * values; // F32 [d_v, n_pages, n_head_kv]
    int32_t       n_cand;
};

// what a chunk attends to besides its surroundings
struct h2o_set {
    ggml_tensor * members; // I32 [n_mem, n_head_kv, 1], one for all queries of a group, or [n_mem, n_head, n_sets], one for each
                           // head and block of GGML_H2O_BLOCK queries
    ggml_tensor * order;   // I32 [n_queries, n_head] what blocks are cut from (ggml_h2o_order); null without blocks
    h2o_left_out  left_out = {};
};

// Has no state: the same object serves every layer.
class h2o_block {
public:
    // F16 [n, n_group*n] for a chunk of n tokens: key j for the rows of query i >= j. And as many ones as h2o_layer says
    const bool wants_mask_and_ones;

    // the layer's q as the functions below want it
    virtual ggml_tensor * take(ggml_context * ctx, ggml_tensor * q) const = 0;

    // chunks of n_chunk tokens whose intra attention is one product
    virtual int64_t n_chunks_batched(int64_t n_chunk, int64_t n_head) const = 0;

    // the queries of n_chunks chunks of n_queries tokens, from a token of this graph on
    // fused: [d, n_head, n_queries, n_chunks]; composed: [d, n_group*n_queries, n_head_kv, n_chunks]
    virtual ggml_tensor * queries(const h2o_layer & l, int64_t token, int64_t n_queries, int64_t n_chunks) const = 0;

    // attention of n_chunks chunks of n queries, each over the n_near cells before it, all of them, and over its own,
    // causal; the first chunk begins at cell pos. The sinks belong to this block and to no other: what is merged with it
    // counts them once.
    // votes: of the chunk's own cells; null if n_near > 0
    virtual h2o_attn_block intra(const h2o_layer & l, ggml_tensor * q, int64_t pos, int64_t n_near, int64_t n,
            int64_t n_chunks, ggml_tensor * mask) const = 0;

    // attention of one chunk over sets of cells and what they leave out, merged with what came out over other keys
    // q, o, lse as in a block, of one chunk -> o is that of all keys; lse and votes are of the set alone
    virtual h2o_attn_block inter(
            const h2o_layer & l, ggml_tensor * q, const h2o_set & set, ggml_tensor * o, ggml_tensor * lse) const = 0;

    // q, o or lse of a block, of one chunk, by query and head: [d, n_head, n_queries]
    virtual ggml_tensor * by_head(const h2o_layer & l, ggml_tensor * t) const = 0;

    // the inverse, from any type
    virtual ggml_tensor * from_head(const h2o_layer & l, ggml_tensor * t) const = 0;

    // o or lse of a block, of any chunks, by token: [d*n_head, n_tokens]
    virtual ggml_tensor * by_token(const h2o_layer & l, ggml_tensor * t) const = 0;

protected:
    explicit h2o_block(bool wants_mask_and_ones) : wants_mask_and_ones(wants_mask_and_ones) {}
    ~h2o_block() = default;
};

const h2o_block & h2o_fused_block();    // knows no cap, and no votes where there are sinks
const h2o_block & h2o_composed_block();

// products of n_logits each that make one tensor: it stays below 256 MiB
int64_t h2o_n_batched(int64_t n_logits);

// Adds the sinks to what the keys of a block gave; sinks repeats along lse. Returns the share that is left to the keys,
// of the shape of lse.
ggml_tensor * h2o_build_sinks(ggml_context * ctx, ggml_tensor * sinks, ggml_tensor * & o, ggml_tensor * & lse);

// Puts tensors into the graph, those that are not null. Left to the end, a depth-first walk would build the whole chain
// of chunks first and keep the logits of every block alive.
void h2o_expand(const h2o_layer & l, std::initializer_list<ggml_tensor *> tensors);
