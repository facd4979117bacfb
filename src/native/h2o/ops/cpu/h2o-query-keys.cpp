#include "h2o-query-keys.h"

#include "h2o-query-channels.h"
#include "h2o-rows.h"

// f(i, key) for the keys of a page
template <typename F>
static void h2o_for_keys(const h2o_query_op & op, const h2o_query_work & w, const h2o_cells & cells, int64_t page, const F & f) {
    for (int64_t i = 0; i < op.n_keys_of(page); ++i) {
        const int64_t at = page*GGML_H2O_PAGE + i;

        cells.prefetch(std::min<int64_t>(at + H2O_AHEAD, op.p.n_cand - 1));
        cells.read(at, w.scaled);
        f(i, w.scaled);
    }
}

static void h2o_copy_page(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_cells & cells, int64_t page) {
    float * rows = (float *) keys.rows + page*GGML_H2O_PAGE*op.d;

    h2o_for_keys(op, w, cells, page, [&](int64_t i, const float * key) { std::copy_n(key, op.d, rows + i*op.d); });

    std::fill(rows + op.n_keys_of(page)*op.d, rows + GGML_H2O_PAGE*op.d, 0.0f);
}

#ifdef H2O_HAS_INT8_SEARCH
// less the mean of the page, in one scale: then a query has one least product for all of its keys
static void h2o_round_page(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_cells & cells, int64_t ih_kv,
        int64_t page) {
    const int64_t n    = op.n_channels;
    const int64_t of   = h2o_page_of_mean(op, ih_kv, page);
    const float * mean = of < 0 ? nullptr : op.pages_of(ih_kv) + of*op.d;

    uint64_t valid = 0;
    h2o_for_keys(op, w, cells, page, [&](int64_t i, const float * key) {
        float * row = w.part + i*n;

        if (h2o_take_channels(op, w, key, mean, row) == 0.0f) {
            valid |= 1ull << i;
        } else {
            std::fill(row, row + n, 0.0f);
        }
    });
    std::fill(w.part + op.n_keys_of(page)*n, w.part + GGML_H2O_PAGE*n, 0.0f);

    keys.valid     [page] = valid;
    keys.mean_pages[page] = of;
    keys.scales    [page] = h2o_int8_round(w.part, GGML_H2O_PAGE*n, H2O_INT8_KEY, (int8_t *) keys.rows + page*GGML_H2O_PAGE*n);

    uint8_t * rows = (uint8_t *) keys.rows + page*GGML_H2O_PAGE*n;
    for (int64_t i = 0; i < GGML_H2O_PAGE*n; ++i) {
        rows[i] += H2O_INT8_OFFSET;
    }
}
#endif

void h2o_round_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t begin, int64_t end) {
    const h2o_cells cells(op.k, ih_kv);

#ifdef H2O_HAS_INT8_SEARCH
    if (op.scoring == H2O_SCORING_INT8) {
        h2o_choose_channels(op, w, ih_kv);

        for (int64_t page = begin; page < end; ++page) {
            h2o_round_page(op, keys, w, cells, ih_kv, page);
        }
        return;
    }
#endif
    for (int64_t page = begin; page < end; ++page) {
        h2o_copy_page(op, keys, w, cells, page);
    }
}
