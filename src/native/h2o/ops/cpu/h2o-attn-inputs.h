// What every CPU kernel of GGML_H2O_OP_ATTN reads from the op; see ggml_h2o_attn for shapes and meaning.

#pragma once

#include "h2o-block-sets.h"
#include "h2o-softmax.h"

#include "../ggml-h2o.h"

struct h2o_attn_inputs {
    explicit h2o_attn_inputs(const ggml_tensor * dst) :
        p(*ggml_h2o_get_attn_params(dst)),
        q(dst->src[0]), k(dst->src[1]), v(dst->src[2]), set(dst->src[3]), o_prev(dst->src[4]), lse_prev(dst->src[5]),
        order(dst->src[6]),
        d_k(q->ne[0]), d_v(v->ne[p.v_trans ? 1 : 0]), n_head(set ? set->ne[1] : k->ne[2]), n_per_kv(n_head/k->ne[2]),
        n_group(q->ne[1]/n_head), n_queries(q->ne[2]),
        n_rows(n_queries*n_group), n_chunks(q->ne[3]), n_keys(set ? set->ne[0] : k->ne[1]) {}

    const ggml_h2o_attn_params & p;

    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;
    const ggml_tensor * set;
    const ggml_tensor * o_prev;
    const ggml_tensor * lse_prev;
    const ggml_tensor * order;

    const int64_t d_k;
    const int64_t d_v;
    const int64_t n_head;   // that share keys: KV heads, or query heads with a set each
    const int64_t n_per_kv; // of these to a KV head
    const int64_t n_group;  // query heads of each of these
    const int64_t n_queries;
    const int64_t n_rows;   // of a head and chunk: query*n_group + head of the group
    const int64_t n_chunks;
    const int64_t n_keys;

    // keys that the rows before row_end can see: those before the queries, and those up to the last row's own
    int64_t n_visible(int64_t row_end) const { return p.causal ? n_keys - n_queries + (row_end - 1)/n_group + 1 : n_keys; }

    // the is-th set of a head, and how many members it has
    const int32_t * set_at(int64_t ih, int64_t is) const { return h2o_block_set(set, ih, is); }
    int64_t n_members(int64_t ih, int64_t is) const { return ggml_h2o_n_members(set_at(ih, is), n_keys); }

    int64_t kv_head(int64_t ih) const { return ih/n_per_kv; }

    // a row's place in q, o and lse
    int64_t index(int64_t ic, int64_t ih, int64_t row) const {
        return ((ic*n_queries + h2o_block_query(order, ih, row/n_group))*n_head + ih)*n_group + row%n_group;
    }
};

// every block of queries of every head has a set of its own
static inline bool h2o_has_blocks(const ggml_tensor * dst) {
    const ggml_tensor * q   = dst->src[0];
    const ggml_tensor * set = dst->src[3];

    return set && set->ne[1] == q->ne[1] && set->ne[2]*GGML_H2O_BLOCK >= q->ne[2] && !ggml_h2o_get_attn_params(dst)->votes;
}

// neighbouring keys or a set for each block of queries, and no votes: what kernels take that know panels of queries alone
static inline bool h2o_has_panels(const ggml_tensor * dst) {
    return !ggml_h2o_get_attn_params(dst)->votes && (!dst->src[3] || h2o_has_blocks(dst));
}

// Output and log-sum-exp of a row, on top of what the state says of it: x [d_v] are the values summed by their weights,
// scale is one over the sum of the weights. at: the row's place
static inline void h2o_write_row(
        const h2o_attn_inputs & op, ggml_tensor * dst, int64_t at, const float * x, float scale, float lse) {
    float * o = (float *) dst->data + at*op.d_v;

    ((float *) dst->data)[op.d_v*op.n_rows*op.n_head*op.n_chunks + at] = lse;

    if (!op.o_prev) {
        for (int64_t j = 0; j < op.d_v; ++j) {
            o[j] = x[j]*scale;
        }
        return;
    }

    const float * y = (const float *) op.o_prev->data + at*op.d_v;

    const float diff = lse - ((const float *) op.lse_prev->data)[at];
    const float wx   = h2o_sigmoid( diff)*scale;
    const float wy   = h2o_sigmoid(-diff);

    for (int64_t j = 0; j < op.d_v; ++j) {
        o[j] = x[j]*wx + y[j]*wy;
    }
}
