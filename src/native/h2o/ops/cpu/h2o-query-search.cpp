#include "h2o-query-search.h"

#include "h2o-query-compare.h"
#include "h2o-query-sums.h"

#include <cmath>

// f(position) for the wanted keys, ascending
template <typename F>
static void h2o_for_wanted(uint64_t wanted, int64_t page, const F & f) {
    for (; wanted != 0; wanted &= wanted - 1) {
        f(page*GGML_H2O_PAGE + h2o_lowest_bit(wanted));
    }
}

// of more wanted keys than fit, the n_take best, ascending
static void h2o_take_best_wanted(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries, int64_t n_take,
        int32_t * out) {
    float shift[H2O_PANEL];
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = -queries.bars[i];
    }

    int64_t n = 0;
    for (int64_t page = 0; page < op.n_all_pages(); ++page) {
        if (w.wanted[page] == 0) {
            continue;
        }
        float scores[GGML_H2O_PAGE];
        h2o_score_page(op, keys, w, queries, page);
        h2o_rows_max_shifted(w.logits, op.n_keys_of(page), shift, scores);

        h2o_for_wanted(w.wanted[page], page, [&](int64_t at) {
            w.at[n]       = at;
            w.scores[n++] = scores[at%GGML_H2O_PAGE];
        });
    }
    h2o_order_keys(w.scores, n, w.keys);
    h2o_take_best(w.keys, n, n_take, w.best);
    for (int64_t i = 0; i < n_take; ++i) {
        out[i] = w.at[w.best[i]];
    }
}

// the queries of a block into w.scaled, zeros behind them, and the logits from which on they want a key
static void h2o_read_block(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_query_block & b, float * bars) {
    float near[H2O_PANEL]; // log-sum-exp of the surroundings

    std::fill(near, near + H2O_PANEL, INFINITY); // no query: wants nothing
    std::fill(w.scaled + b.n*op.d, w.scaled + H2O_PANEL*op.d, 0.0f);
    for (int64_t i = 0; i < b.n; ++i) {
        const int64_t query = op.query_at(b.begin + i, b.ih);
        const float * q     = op.q_at(query, b.ih);

        for (int64_t j = 0; j < op.d; ++j) {
            w.scaled[i*op.d + j] = q[j]*op.p.scale;
        }
        near[i] = op.lse_at(query, b.ih);
    }

    h2o_estimate_sums(op, keys, w, op.kv_head(b.ih), near, bars);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        bars[i] = std::isnan(bars[i]) ? INFINITY : bars[i] + op.p.least;
    }
}

void h2o_choose_set(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih, int64_t ib) {
    h2o_compared queries;

    h2o_read_block(op, keys, w, op.block(ih, ib), queries.bars);
    h2o_pack_compared(op, w, queries);

    int64_t n_wanted = h2o_compare_keys(op, keys, w, queries);

    n_wanted -= w.wanted[0] & 1;
    w.wanted[0] &= ~1ull; // a member anyway: attention sinks are there

    int32_t     * out = op.set_at(ih, ib);
    const int64_t n   = std::min(n_wanted, op.n_set - 1);

    out[0] = 0;
    if (n < n_wanted) {
        h2o_take_best_wanted(op, keys, w, queries, n, out + 1);
    } else {
        int32_t * at = out + 1;
        for (int64_t page = 0; page < op.n_all_pages(); ++page) {
            h2o_for_wanted(w.wanted[page], page, [&](int64_t x) { *at++ = x; });
        }
    }
    std::fill(out + 1 + n, out + op.n_set, out[n]);
}
