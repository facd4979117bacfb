// What the parts of GGML_H2O_OP_QUERY share: its inputs, and the working memory of a thread.

#pragma once

#include "h2o-amx.h"
#include "h2o-columns.h"
#include "h2o-gemm-int16.h"
#include "h2o-select.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cstdint>

// how keys are scored one by one
enum h2o_scoring {
    H2O_SCORING_F32,
    H2O_SCORING_INT16,
    H2O_SCORING_TILES, // of BF16
};

static inline h2o_scoring h2o_choose_scoring(int64_t d) {
#ifdef H2O_HAS_AMX
    if (h2o_amx_available() && d % H2O_AMX_K == 0) {
        return H2O_SCORING_TILES;
    }
#endif
#ifdef H2O_HAS_INT16
    if (h2o_int16_available() && d % H2O_INT16_STEP == 0) {
        return H2O_SCORING_INT16;
    }
#endif
    GGML_UNUSED(d);
    return H2O_SCORING_F32;
}

struct h2o_query_op {
    explicit h2o_query_op(const ggml_tensor * dst) :
        p(*ggml_h2o_get_query_params(dst)),
        q(dst->src[0]), lse(dst->src[1]), k(dst->src[2]), pages(dst->src[3]), landmarks(dst->src[4]),
        d(q->ne[0]), n_head(q->ne[1]), n_group(n_head/k->ne[2]), n_queries(q->ne[2]), n_blocks(dst->ne[2]),
        n_set(dst->ne[0]),
        n_searched(p.n_picked*GGML_H2O_PAGE + p.n_cand - p.n_pages*GGML_H2O_PAGE),
        scoring(h2o_choose_scoring(d)) {}

    const ggml_h2o_query_params & p;

    const ggml_tensor * q;
    const ggml_tensor * lse;
    const ggml_tensor * k;
    const ggml_tensor * pages;
    const ggml_tensor * landmarks;

    const int64_t d;
    const int64_t n_head;  // each with a set of its own
    const int64_t n_group; // of them read the keys of one KV head
    const int64_t n_queries;
    const int64_t n_blocks;
    const int64_t n_set;
    const int64_t n_searched; // candidates that are scored key by key

    const h2o_scoring scoring;

    static constexpr int64_t n_needy_cols = (GGML_H2O_NEEDY + H2O_COL_STEP - 1)/H2O_COL_STEP*H2O_COL_STEP;

    // floats per thread
    int64_t size_queries() const { return (d + 1)*H2O_PANEL; }
    int64_t size_scaled()  const { return GGML_H2O_BLOCK*d; }
    int64_t size_keys()    const { return GGML_H2O_PAGE*d; }
    int64_t size_logits()  const { return GGML_PAD(n_searched, GGML_H2O_PAGE)*H2O_PANEL; }

    int64_t n_ranked() const { return std::max<int64_t>({ p.n_landmarks, p.n_pages, n_searched }); }

    size_t size_thread() const {
        const size_t n =
            (size_queries() + size_scaled() + size_keys() + size_logits())*sizeof(float) +
            n_ranked()*sizeof(h2o_candidate) + n_searched*sizeof(int32_t);

        return GGML_PAD(n, align);
    }

    static constexpr size_t align = 64; // of the memory of a thread

    int64_t kv_head(int64_t ih) const { return ih/n_group; }

    float lse_at(int64_t query, int64_t ih) const {
        return ((const float *) lse->data)[query*n_head + ih];
    }

    const float * q_at(int64_t query, int64_t ih) const {
        return (const float *) q->data + (query*n_head + ih)*d;
    }
};

struct h2o_query_work {
    h2o_query_work(const h2o_query_op & op, const ggml_compute_params * params) {
        char * base = (char *) GGML_PAD((uintptr_t) params->wdata, h2o_query_op::align) + params->ith*op.size_thread();

        queries  = (float *) base;
        scaled   = queries + op.size_queries();
        keys     = scaled  + op.size_scaled();
        logits   = keys    + op.size_keys();
        ranked   = (h2o_candidate *) (logits + op.size_logits());
        searched = (int32_t *) (ranked + op.n_ranked());
    }

    float         * queries; // as columns
    float         * scaled;  // [GGML_H2O_BLOCK][d] queries
    float         * keys;    // [GGML_H2O_PAGE][d]
    float         * logits;
    h2o_candidate * ranked;
    int32_t       * searched;
};

// queries [begin, begin + n) of a head
struct h2o_query_block {
    int64_t ih;
    int64_t begin;
    int64_t n;
};
