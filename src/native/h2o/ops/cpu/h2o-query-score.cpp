#include "h2o-query-score.h"

#include "h2o-amx.h"
#include "h2o-gemm-int16.h"
#include "h2o-rows.h"

void h2o_round_keys(const h2o_query_op & op, const h2o_query_keys & keys, int64_t ih_kv, int64_t begin, int64_t end, float * row) {
    const h2o_cells cells(op.k, ih_kv);

    GGML_UNUSED(row); // where F32 is all there is

    for (int64_t i = begin; i < end; ++i) {
        switch (op.scoring) {
            case H2O_SCORING_F32:
                cells.read(i, (float *) keys.rows + i*op.d);
                break;
#ifdef H2O_HAS_INT16
            case H2O_SCORING_INT16:
                cells.read(i, row);
                keys.scales[i] = h2o_round_int16(row, op.d, (int32_t *) keys.rows + i*(op.d/2));
                break;
#endif
#ifdef H2O_HAS_AMX
            case H2O_SCORING_TILES:
                cells.read(i, row);
                h2o_amx_round(row, (uint16_t *) keys.rows + i*op.d, op.d);
                break;
#endif
            default: GGML_ABORT("unknown scoring of GGML_H2O_OP_QUERY");
        }
    }
}

// score(first, n, logits): the logits of the n keys from `first` on, and of no more than a page
template <typename F>
static void h2o_score_pages(const h2o_query_op & op, const h2o_query_work & w, h2o_column_sums & sums, F score) {
    for (int64_t i = 0; i < op.n_searched; i += GGML_H2O_PAGE) {
        const int64_t n      = std::min<int64_t>(GGML_H2O_PAGE, op.n_searched - i);
        float       * logits = w.logits + i*H2O_PANEL;

        score((int64_t) w.pages[i/GGML_H2O_PAGE]*GGML_H2O_PAGE, n, logits);
        h2o_columns_add_max(logits, n, sums);
    }
}

static void h2o_score_f32(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    h2o_pack_queries(w.queries, H2O_PANEL, op.d, H2O_PANEL, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });

    h2o_score_pages(op, w, sums, [&](int64_t first, int64_t n, float * logits) {
        const float * rows = (const float *) keys.rows + first*op.d;

        h2o_gemm(n, H2O_PANEL, op.d, { rows, op.d, 1 }, w.queries, H2O_PANEL, logits, H2O_PANEL);
    });
}

#ifdef H2O_HAS_INT16
static void h2o_score_int16(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    const int64_t n_pairs = op.d/2;

    // behind the queries, as many values as they have
    int32_t * queries = (int32_t *) w.queries;
    int32_t * row     = queries + n_pairs*H2O_PANEL;

    float scale_q[H2O_PANEL];

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        scale_q[i] = h2o_round_int16(w.scaled + i*op.d, op.d, row);

        for (int64_t j = 0; j < n_pairs; ++j) {
            queries[j*H2O_PANEL + i] = row[j];
        }
    }

    h2o_score_pages(op, w, sums, [&](int64_t first, int64_t n, float * logits) {
        alignas(64) int32_t dots[GGML_H2O_PAGE*H2O_PANEL];

        const int32_t * rows = (const int32_t *) keys.rows + first*n_pairs;

        h2o_gemm<h2o_gemm_int16>(n, H2O_PANEL, n_pairs, { rows, n_pairs, 1 }, queries, H2O_PANEL, dots, H2O_PANEL);

        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < H2O_PANEL; ++j) {
                logits[i*H2O_PANEL + j] = dots[i*H2O_PANEL + j]*(keys.scales[first + i]*scale_q[j]);
            }
        }
    });
}
#endif

#ifdef H2O_HAS_AMX
static void h2o_score_tiles(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    uint16_t * queries = (uint16_t *) w.queries;

    h2o_amx_pack_rounded(w.scaled, op.d, H2O_PANEL, queries);

    h2o_score_pages(op, w, sums, [&](int64_t first, int64_t, float * logits) {
        const uint16_t * rows = (const uint16_t *) keys.rows + first*op.d;

        for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_AMX_ROWS) {
            for (int64_t col = 0; col < H2O_PANEL; col += H2O_AMX_COLS) {
                h2o_amx_gemm_rounded(rows + row*op.d, op.d, queries + col*op.d, 16*op.d, op.d,
                        logits + row*H2O_PANEL + col, H2O_PANEL);
            }
        }
    });
}
#endif

void h2o_score_searched(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums) {
    switch (op.scoring) {
        case H2O_SCORING_F32:   h2o_score_f32  (op, keys, w, sums); break;
#ifdef H2O_HAS_INT16
        case H2O_SCORING_INT16: h2o_score_int16(op, keys, w, sums); break;
#endif
#ifdef H2O_HAS_AMX
        case H2O_SCORING_TILES: h2o_score_tiles(op, keys, w, sums); break;
#endif
        default: GGML_ABORT("unknown scoring of GGML_H2O_OP_QUERY");
    }
}
