#include "h2o-query-score.h"

#include "h2o-amx.h"
#include "h2o-query-channels.h"
#include "h2o-rows.h"

#include <optional>

static void h2o_copy_key(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_cells & cells, int64_t at,
        const float * mean) {
    GGML_UNUSED(w);
    GGML_UNUSED(mean); // where F32 is all there is

    switch (op.scoring) {
        case H2O_SCORING_F32:
            cells.read(at, (float *) keys.rows + at*op.d);
            break;
#ifdef H2O_HAS_INT8_SEARCH
        case H2O_SCORING_INT8:
            {
                cells.read(at, w.scaled);
                const float bad = h2o_take_channels(op, w, w.scaled, mean);

                keys.scales[at] = h2o_round_key(w.part, op.n_channels, (int8_t *) keys.rows + at*op.n_channels);
                keys.scales[at].scale += bad;
            } break;
#endif
        default: GGML_ABORT("unknown scoring of GGML_H2O_OP_QUERY");
    }
}

void h2o_round_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t begin, int64_t end) {
    const h2o_cells cells(op.k, ih_kv);

#ifdef H2O_HAS_INT8_SEARCH
    if (op.scoring == H2O_SCORING_INT8) {
        h2o_choose_channels(op, w, ih_kv);
    }
#endif
    for (int64_t page = begin; page < end; ++page) {
        const float * mean = nullptr;
#ifdef H2O_HAS_INT8_SEARCH
        if (op.scoring == H2O_SCORING_INT8) {
            const int64_t of = h2o_page_of_mean(op, ih_kv, page);

            keys.mean_pages[page] = of;
            mean = of < 0 ? nullptr : op.pages_of(ih_kv) + of*op.d;
        }
#endif
        const int64_t first = page*GGML_H2O_PAGE;
        const int64_t last  = std::min<int64_t>(first + GGML_H2O_PAGE, op.p.n_cand);

        for (int64_t i = first; i < last; ++i) {
            cells.prefetch(std::min<int64_t>(i + H2O_AHEAD, op.p.n_cand - 1));
            h2o_copy_key(op, keys, w, cells, i, mean);
        }
#ifdef H2O_HAS_INT8_SEARCH
        if (op.scoring == H2O_SCORING_INT8) { // a page is scored whole: what is behind the last key counts nowhere
            for (int64_t i = last; i < first + GGML_H2O_PAGE; ++i) {
                keys.scales[i] = { NAN, NAN };
                std::fill_n((int8_t *) keys.rows + i*op.n_channels, op.n_channels, 0);
            }
        }
#endif
    }
}

static void h2o_score_f32(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    h2o_pack_queries(w.queries, H2O_PANEL, op.d, H2O_PANEL, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });

    for (int64_t i = 0; i < op.n_searched; i += GGML_H2O_PAGE) {
        const int64_t n      = std::min<int64_t>(GGML_H2O_PAGE, op.n_searched - i);
        const float * rows   = (const float *) keys.rows + w.pages[i/GGML_H2O_PAGE]*GGML_H2O_PAGE*op.d;
        float       * logits = w.logits + i*H2O_PANEL;
        float       * most   = w.most + i/GGML_H2O_PAGE*H2O_PANEL;

        h2o_gemm(n, H2O_PANEL, op.d, { rows, op.d, 1 }, w.queries, H2O_PANEL, logits, H2O_PANEL);

        std::fill(most, most + H2O_PANEL, -INFINITY);
        h2o_columns_max(logits, n, H2O_PANEL, most);
        h2o_sums_add(most, sums);
    }
}

#ifdef H2O_HAS_INT8_SEARCH
static void h2o_score_int8(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    static const float zeros[H2O_PANEL] = {};

    const int64_t n = op.n_channels;

    uint8_t * queries = (uint8_t *) w.queries;
    int8_t  * rows    = (int8_t *) queries + n*H2O_PANEL;

    float scale_q[H2O_PANEL];

    float bad[H2O_PANEL];
    h2o_pack_int8(n, [&](int64_t i) {
        bad[i] = h2o_take_channels(op, w, w.scaled + i*op.d, nullptr);
        return w.part;
    }, rows, queries, scale_q);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        scale_q[i] += bad[i];
    }

#ifdef H2O_HAS_AMX
    std::optional<h2o_amx_scope> tiles;
    if (op.tiles) {
        tiles.emplace(h2o_amx_bytes(n));
    }
#endif
    for (int64_t i = 0; i < op.n_searched_pages(); ++i) {
        const int64_t page  = w.pages[i];
        const int64_t first = page*GGML_H2O_PAGE;
        const int64_t of    = keys.mean_pages[page];
        const float * base  = of < 0 ? zeros : w.means + of*H2O_PANEL;
        float       * most  = w.most + i*H2O_PANEL;

        if (op.tiles && i + 1 < op.n_searched_pages()) { // pages lie apart
            h2o_prefetch<1>(keys.rows + w.pages[i + 1]*GGML_H2O_PAGE*n, GGML_H2O_PAGE*n);
        }
        h2o_int8_score_page((const int8_t *) keys.rows + first*n, keys.scales + first,
                queries, scale_q, base, n, op.tiles, w.logits + i*GGML_H2O_PAGE*H2O_PANEL, most);
        h2o_sums_add(most, sums);
    }
}
#endif

void h2o_score_searched(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    switch (op.scoring) {
        case H2O_SCORING_F32:   h2o_score_f32  (op, keys, w, sums); break;
#ifdef H2O_HAS_INT8_SEARCH
        case H2O_SCORING_INT8:  h2o_score_int8 (op, keys, w, sums); break;
#endif
        default: GGML_ABORT("unknown scoring of GGML_H2O_OP_QUERY");
    }
}
