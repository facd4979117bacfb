#include "h2o-query-score.h"

#include "h2o-amx.h"
#include "h2o-gemm-int16.h"
#include "h2o-rows.h"

// n rows of logits more
static void h2o_add_to_sums(float * logits, int64_t n, h2o_panel_sums & sums) {
    float shift  [H2O_PANEL];
    float rescale[H2O_PANEL];
    float ignored[H2O_PANEL] = {};

    std::copy(sums.max, sums.max + H2O_PANEL, rescale);
    h2o_columns_max(logits, n, H2O_PANEL, sums.max);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = -sums.max[i];
    }

    h2o_columns_exp<true>(rescale, 1, H2O_PANEL, shift, ignored);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        sums.sum[i] *= rescale[i];
    }
    h2o_columns_exp<false>(logits, n, H2O_PANEL, shift, sums.sum);
}

// score(n, logits): the logits of the n keys in w.keys
template <typename F>
static void h2o_score_pages(
        const h2o_query_op & op, const h2o_query_work & w, int64_t ih, h2o_panel_sums & sums, F score) {
    const h2o_cells keys(op.k, op.kv_head(ih));

    for (int64_t i = 0; i < op.n_searched; i += GGML_H2O_PAGE) {
        const int64_t n      = std::min<int64_t>(GGML_H2O_PAGE, op.n_searched - i);
        float       * logits = w.logits + i*H2O_PANEL;

        for (int64_t j = 0; j < n; ++j) {
            keys.read(w.searched[i + j], w.keys + j*op.d);
        }
        score(n, logits);
        h2o_add_to_sums(logits, n, sums);
    }
}

static void h2o_score_f32(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, h2o_panel_sums & sums) {
    h2o_pack_queries(w.queries, H2O_PANEL, op.d, b.n, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });

    h2o_score_pages(op, w, b.ih, sums, [&](int64_t n, float * logits) {
        h2o_gemm(n, H2O_PANEL, op.d, { w.keys, op.d, 1 }, w.queries, H2O_PANEL, logits, H2O_PANEL);
    });
}

#ifdef H2O_HAS_INT16
static void h2o_score_int16(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, h2o_panel_sums & sums) {
    const int64_t n_pairs = op.d/2;

    // behind the queries, as many values as they have
    int32_t * queries = (int32_t *) w.queries;
    int32_t * rows    = queries + n_pairs*H2O_PANEL;

    float scale_q[H2O_PANEL];
    float scale_k[GGML_H2O_PAGE];

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        scale_q[i] = h2o_round_int16(w.scaled + i*op.d, op.d, rows + i*n_pairs);

        for (int64_t j = 0; j < n_pairs; ++j) {
            queries[j*H2O_PANEL + i] = rows[i*n_pairs + j];
        }
    }

    h2o_score_pages(op, w, b.ih, sums, [&](int64_t n, float * logits) {
        alignas(64) int32_t dots[GGML_H2O_PAGE*H2O_PANEL];

        for (int64_t i = 0; i < n; ++i) {
            scale_k[i] = h2o_round_int16(w.keys + i*op.d, op.d, rows + i*n_pairs);
        }
        h2o_gemm<h2o_gemm_int16>(n, H2O_PANEL, n_pairs, { rows, n_pairs, 1 }, queries, H2O_PANEL, dots, H2O_PANEL);

        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < H2O_PANEL; ++j) {
                logits[i*H2O_PANEL + j] = dots[i*H2O_PANEL + j]*(scale_k[i]*scale_q[j]);
            }
        }
    });
}
#endif

#ifdef H2O_HAS_AMX
static void h2o_score_tiles(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, h2o_panel_sums & sums) {
    uint16_t * queries = (uint16_t *) w.queries;
    uint16_t * rounded = queries + H2O_PANEL*op.d; // of the keys

    h2o_amx_pack_rounded(w.scaled, op.d, H2O_PANEL, queries);

    h2o_score_pages(op, w, b.ih, sums, [&](int64_t n, float * logits) {
        h2o_amx_round(w.keys, rounded, n*op.d);

        for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_AMX_ROWS) {
            for (int64_t col = 0; col < H2O_PANEL; col += H2O_AMX_COLS) {
                h2o_amx_gemm_rounded(rounded + row*op.d, op.d, queries + col*op.d, 16*op.d, op.d,
                        logits + row*H2O_PANEL + col, H2O_PANEL);
            }
        }
    });
}
#endif

void h2o_score_searched(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, h2o_panel_sums & sums) {
    switch (op.scoring) {
        case H2O_SCORING_F32:   h2o_score_f32  (op, w, b, sums); break;
#ifdef H2O_HAS_INT16
        case H2O_SCORING_INT16: h2o_score_int16(op, w, b, sums); break;
#endif
#ifdef H2O_HAS_AMX
        case H2O_SCORING_TILES: h2o_score_tiles(op, w, b, sums); break;
#endif
        default: GGML_ABORT("unknown scoring of GGML_H2O_OP_QUERY");
    }
}
