#include "h2o-estimate.h"

#include "h2o-block-sets.h"
#include "h2o-panel.h"
#include "h2o-share.h"
#include "h2o-softmax.h"

#include "../ggml-h2o.h"

#include <algorithm>
#include <cmath>

// A thread takes a block and a head. It gathers the means of the pages that its set does not have as a whole, so many at a time.

static constexpr int64_t H2O_PAGES_AT_ONCE = 128;

namespace {

struct h2o_estimate_op {
    explicit h2o_estimate_op(const ggml_tensor * dst) :
        p(*ggml_h2o_get_estimate_params(dst)), dst(dst),
        q(dst->src[0]), keys(dst->src[1]), values(dst->src[2]), set(dst->src[3]), order(dst->src[4]), o(dst->src[5]), lse(dst->src[6]),
        d_k(q->ne[0]), d_v(values->ne[0]), ld_v(h2o_col_pad(d_v)), n_head(q->ne[1]), n_group(n_head/keys->ne[2]),
        n_queries(q->ne[2]), n_blocks(set->ne[2]) {}

    const ggml_h2o_estimate_params & p;

    const ggml_tensor * dst;
    const ggml_tensor * q;
    const ggml_tensor * keys;
    const ggml_tensor * values;
    const ggml_tensor * set;
    const ggml_tensor * order;
    const ggml_tensor * o;
    const ggml_tensor * lse;

    const int64_t d_k;
    const int64_t d_v;
    const int64_t ld_v;
    const int64_t n_head;
    const int64_t n_group; // query heads of a KV head
    const int64_t n_queries;
    const int64_t n_blocks;

    // floats per thread
    int64_t size_q()      const { return d_k*H2O_PANEL; }
    int64_t size_k()      const { return H2O_PAGES_AT_ONCE*d_k; }
    int64_t size_v()      const { return H2O_PAGES_AT_ONCE*ld_v; }
    int64_t size_logits() const { return H2O_PAGES_AT_ONCE*H2O_PANEL; }
    int64_t size_o()      const { return H2O_PANEL*ld_v; }
    int64_t size_counts() const { return GGML_PAD(p.n_pages, 16); }
    int64_t size_thread() const {
        return GGML_PAD(size_q() + size_k() + size_v() + size_logits() + size_o() + size_counts(), H2O_PANEL);
    }

    // where a query of a head is in q, o and lse
    int64_t at(int64_t ih, int64_t place) const { return h2o_block_query(order, ih, place)*n_head + ih; }

    const float * mean(const ggml_tensor * t, int64_t ih, int64_t page) const {
        return (const float *) ((const char *) t->data + page*t->nb[1] + ih/n_group*t->nb[2]);
    }
};

struct h2o_estimate_work {
    h2o_estimate_work(const h2o_estimate_op & op, const ggml_compute_params * params) {
        q      = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN) + params->ith*op.size_thread();
        k      = q + op.size_q();
        v      = k + op.size_k();
        logits = v + op.size_v();
        o      = logits + op.size_logits();
        n_left = (int32_t *) (o + op.size_o());
    }

    float   * q;      // [d_k][H2O_PANEL]
    float   * k;      // [H2O_PAGES_AT_ONCE][d_k]
    float   * v;      // [H2O_PAGES_AT_ONCE][ld_v]
    float   * logits; // [H2O_PAGES_AT_ONCE][H2O_PANEL]
    float   * o;      // [H2O_PANEL][ld_v]
    int32_t * n_left; // [n_pages] keys of a page that are not in the set
};

}

static void h2o_count_left(const h2o_estimate_op & op, const h2o_estimate_work & w, int64_t ih, int64_t ib) {
    const int32_t * set = h2o_block_set(op.set, ih, ib);

    std::fill_n(w.n_left, op.p.n_pages, GGML_H2O_PAGE);
    w.n_left[0] = 0; // it counts by its members alone

    const int64_t n = ggml_h2o_n_members(set, op.set->ne[0]);
    for (int64_t i = 0; i < n; ++i) {
        const int32_t page = set[i]/GGML_H2O_PAGE;

        if (page > 0 && page < op.p.n_pages) {
            --w.n_left[page];
        }
    }
}

// the next pages with something left from `page` on, which moves behind them; how many they are
static int64_t h2o_gather_left(const h2o_estimate_op & op, const h2o_estimate_work & w, int64_t ih, int64_t & page) {
    int64_t n = 0;

    for (; page < op.p.n_pages && n < H2O_PAGES_AT_ONCE; ++page) {
        if (w.n_left[page] == 0) {
            continue;
        }
        std::copy_n(op.mean(op.keys,   ih, page), op.d_k, w.k + n*op.d_k);
        std::copy_n(op.mean(op.values, ih, page), op.d_v, w.v + n*op.ld_v);
        std::fill_n(w.logits + n*H2O_PANEL, H2O_PANEL, logf(w.n_left[page]));
        ++n;
    }
    return n;
}

// a row of the state over other keys, merged with x [d_v], values summed by weights that add up to `sum` relative to `max`;
// sum is 0 where there were no keys
static void h2o_merge_row(const h2o_estimate_op & op, int64_t at, const float * x, float max, float sum) {
    const float * o     = (const float *) op.o->data + at*op.d_v;
    const float   other = ((const float *) op.lse->data)[at];

    float * out     = (float *) op.dst->data + at*op.d_v;
    float * out_lse = (float *) op.dst->data + op.d_v*op.n_head*op.n_queries + at;

    if (sum == 0.0f) {
        std::copy_n(o, op.d_v, out);
        *out_lse = other;
        return;
    }
    const float own  = max + logf(sum);
    const float diff = own - other;
    const float wx   = h2o_sigmoid( diff)/sum;
    const float wo   = h2o_sigmoid(-diff);

    for (int64_t j = 0; j < op.d_v; ++j) {
        out[j] = x[j]*wx + o[j]*wo;
    }
    *out_lse = diff > 0.0f ? own + log1pf(expf(-diff)) : other + log1pf(expf(diff));
}

static void h2o_estimate_block(const h2o_estimate_op & op, const h2o_estimate_work & w, int64_t ih, int64_t ib) {
    const int64_t begin = ib*GGML_H2O_BLOCK;
    const int64_t n     = std::min<int64_t>(GGML_H2O_BLOCK, op.n_queries - begin);

    h2o_count_left(op, w, ih, ib);
    h2o_pack_queries(w.q, H2O_PANEL, op.d_k, n, op.p.scale, [&](int64_t i) {
        return (const float *) op.q->data + op.at(ih, begin + i)*op.d_k;
    });

    h2o_panel_state state;
    bool            is_first = true;

    for (int64_t page = 1; page < op.p.n_pages;) {
        const int64_t n_here = h2o_gather_left(op, w, ih, page);

        if (n_here == 0) {
            break;
        }
        h2o_gemm(n_here, H2O_PANEL, op.d_k, { w.k, op.d_k, 1 }, w.q, H2O_PANEL, w.logits, H2O_PANEL, true);
        h2o_panel_take(state, w.logits, w.v, op.ld_v, n_here, is_first, n, w.o);
        is_first = false;
    }
    for (int64_t i = 0; i < n; ++i) {
        h2o_merge_row(op, op.at(ih, begin + i), w.o + i*op.ld_v, state.max[i], state.sum[i]);
    }
}

void h2o_forward_estimate(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_estimate_op   op(dst);
    const h2o_estimate_work w(op, params);

    // padding channels are read, and must be numbers
    std::fill_n(w.v, op.size_v(), 0.0f);

    h2o_share_out(params, op.n_head*op.n_blocks, [&](int64_t i) { h2o_estimate_block(op, w, i/op.n_blocks, i%op.n_blocks); });
}

size_t h2o_estimate_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_estimate_op(dst).size_thread()*sizeof(float) + H2O_ALIGN;
}
