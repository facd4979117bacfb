#include "h2o-query-search.h"

#include "h2o-query-score.h"

#include <cmath>

// The pages where the block's queries, averaged in pairs, find most, into w.ranked: by the log of the mean e^logit of a
// page's keys, to the second order around its mean key, over log-sum-exp of the surroundings. Always the first page: an
// attention sink is one key unlike the others, and means do not show it.
// near: log-sum-exp of the queries' surroundings
static int64_t h2o_pick_pages(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, const float * near) {
    constexpr int64_t n_cols = H2O_PANEL/2;

    const float * pages = (const float *) ((const char *) op.pages->data + op.kv_head(b.ih)*op.pages->nb[2]);
    const int64_t n_row = op.pages->nb[1]/sizeof(float); // d + 1

    float * pairs = w.keys; // [n_cols][d + 1]
    float   shift[n_cols];

    std::fill(shift, shift + n_cols, -INFINITY);
    for (int64_t i = 0; i < b.n; i += 2) {
        const bool    is_pair = i + 1 < b.n;
        const float * x       = w.scaled + i*op.d;
        const float * y       = is_pair ? x + op.d : x;
        float       * out     = pairs + i/2*n_row;

        float square = 0.0f;
        for (int64_t j = 0; j < op.d; ++j) {
            out[j]  = 0.5f*(x[j] + y[j]);
            square += out[j]*out[j];
        }
        out[op.d]  = 0.5f*square;
        shift[i/2] = -0.5f*(near[i] + near[is_pair ? i + 1 : i]);
    }
    h2o_pack_queries(w.queries, n_cols, n_row, (b.n + 1)/2, 1.0f, [&](int64_t i) { return pairs + i*n_row; });

    for (int64_t i = 0; i < op.p.n_pages; i += GGML_H2O_PAGE) {
        const int64_t n = std::min<int64_t>(GGML_H2O_PAGE, op.p.n_pages - i);

        h2o_gemm(n, n_cols, n_row, { pages + i*n_row, n_row, 1 }, w.queries, n_cols, w.logits, n_cols);

        for (int64_t j = 0; j < n; ++j) {
            w.ranked[i + j] = { h2o_row_max_shifted(w.logits + j*n_cols, shift, n_cols), (int32_t) (i + j) };
        }
    }
    w.ranked[0].score = INFINITY; // the sink

    return h2o_take_best(w.ranked, op.p.n_pages, op.p.n_picked);
}

// the positions that are to be scored key by key: the best pages and what is left behind the last one, ascending
static void h2o_find_searched(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, const float * near) {
    const bool    is_choice = op.p.n_picked < op.p.n_pages;
    const int64_t n_picked  = is_choice ? h2o_pick_pages(op, w, b, near) : op.p.n_pages;

    int32_t * out = w.searched;
    for (int64_t i = 0; i < n_picked; ++i) {
        const int32_t page = is_choice ? w.ranked[i].pos : i;

        for (int32_t j = 0; j < GGML_H2O_PAGE; ++j) {
            *out++ = page*GGML_H2O_PAGE + j;
        }
    }
    for (int32_t pos = op.p.n_pages*GGML_H2O_PAGE; pos < op.p.n_cand; ++pos) {
        *out++ = pos;
    }
}

int64_t h2o_choose_by_all(
        const h2o_query_op    & op,
        const h2o_query_work  & w,
        const h2o_query_block & b,
        const int32_t         * taken,
        int64_t                 n_taken) {
    float near [H2O_PANEL]; // log-sum-exp of the surroundings
    float shift[H2O_PANEL];

    std::fill(near, near + H2O_PANEL, INFINITY); // no query
    std::fill(w.scaled + b.n*op.d, w.scaled + H2O_PANEL*op.d, 0.0f);
    for (int64_t i = 0; i < b.n; ++i) {
        const float * q = op.q_at(b.begin + i, b.ih);

        for (int64_t j = 0; j < op.d; ++j) {
            w.scaled[i*op.d + j] = q[j]*op.p.scale;
        }
        near[i] = op.lse_at(b.begin + i, b.ih);
    }
    h2o_find_searched(op, w, b, near);

    // log-sum-exp of the surroundings and all that is searched
    h2o_panel_sums sums;
    std::copy(near, near + H2O_PANEL, sums.max);
    std::fill(sums.sum, sums.sum + H2O_PANEL, 1.0f);
    h2o_score_searched(op, w, b, sums);

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = i < b.n ? -(sums.max[i] + logf(sums.sum[i])) : -INFINITY;
    }

    int64_t n_left = 0;
    int64_t i_next = 0; // of taken

    for (int64_t i = 0; i < op.n_searched; ++i) {
        const int32_t pos = w.searched[i];

        while (i_next < n_taken && taken[i_next] < pos) {
            ++i_next;
        }
        if (i_next < n_taken && taken[i_next] == pos) {
            continue;
        }
        w.ranked[n_left++] = { h2o_row_max_shifted(w.logits + i*H2O_PANEL, shift, H2O_PANEL), pos };
    }
    return h2o_take_best(w.ranked, n_left, op.n_set - n_taken);
}
