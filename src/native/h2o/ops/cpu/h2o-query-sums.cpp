#include "h2o-query-sums.h"

#include "h2o-rows.h"

#include <cmath>

#ifdef H2O_HAS_AMX
static h2o_split h2o_sum_tiles(const h2o_query_op & op, const h2o_query_keys & keys) {
    uint16_t * hi = (uint16_t *) keys.sum_rows;

    return { hi, hi + op.n_sum_rows()*op.d };
}
#endif

void h2o_keep_sum_row(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t i) {
    float       * row = op.tiles ? w.scaled : keys.sum_rows + i*op.d;
    const float * src = row;

    if (i >= GGML_H2O_PAGE) {
        src = op.pages_of(ih_kv) + (i - GGML_H2O_PAGE)*op.d;
    } else if (i < op.n_first()) {
        h2o_cells(op.k, ih_kv).read(i, row);
    } else {
        std::fill(row, row + op.d, 0.0f);
    }
#ifdef H2O_HAS_AMX
    if (op.tiles) { // of 16 rows, which are read one after the other
        const h2o_split out = h2o_sum_tiles(op, keys) + i/16*16*op.d + i%16*H2O_AMX_K;

        for (int64_t k = 0; k < op.d; k += H2O_AMX_K) {
            h2o_amx_split(src + k, out + k*16, H2O_AMX_K);
        }
    }
#else
    GGML_UNUSED(src);
#endif
}

static void h2o_multiply_sum_rows(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv) {
#ifdef H2O_HAS_AMX
    if (op.tiles) {
        const h2o_split a = h2o_sum_tiles(op, keys);
        const h2o_split b = { (uint16_t *) w.queries, (uint16_t *) w.queries + op.d*H2O_PANEL };

        for (int64_t j = 0; j < H2O_PANEL; j += 16) {
            h2o_amx_pack_columns(w.scaled + j*op.d, op.d, op.d, b + j*op.d);
        }
        for (int64_t i = 0; i < op.n_sum_rows(); i += H2O_AMX_ROWS) {
            for (int64_t j = 0; j < H2O_PANEL; j += H2O_AMX_COLS) {
                h2o_amx_gemm_tiles(
                        a + i*op.d, 16*op.d, b + j*op.d, 16*op.d, op.d, nullptr, w.sums + i*H2O_PANEL + j, H2O_PANEL);
            }
        }
        return;
    }
#endif
    h2o_pack_queries(w.queries, H2O_PANEL, op.d, H2O_PANEL, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });

    h2o_gemm(op.n_first(), H2O_PANEL, op.d, { keys.sum_rows, op.d, 1 }, w.queries, H2O_PANEL, w.sums, H2O_PANEL);
    h2o_gemm(op.p.n_pages, H2O_PANEL, op.d, { op.pages_of(ih_kv), op.d, 1 }, w.queries, H2O_PANEL,
            w.sums + GGML_H2O_PAGE*H2O_PANEL, H2O_PANEL);
}

void h2o_estimate_sums(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, const float * near, float * sums) {
    h2o_multiply_sum_rows(op, keys, w, ih_kv);

    const int64_t n_means = std::max<int64_t>(op.p.n_pages - 1, 0); // the first page counts by its keys
    const float * means   = w.sums + (GGML_H2O_PAGE + 1)*H2O_PANEL;

    float max     [H2O_PANEL];
    float shift   [H2O_PANEL];
    float of_first[H2O_PANEL] = {};
    float of_means[H2O_PANEL] = {};

    std::fill(max, max + H2O_PANEL, -INFINITY);
    h2o_columns_max(w.sums, op.n_first(), H2O_PANEL, max);
    h2o_columns_max(means,  n_means,      H2O_PANEL, max);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        max  [i] = near[i] > max[i] ? near[i] : max[i];
        shift[i] = std::isinf(max[i]) ? 0.0f : -max[i];
    }
    h2o_columns_sum_exp(w.sums, op.n_first(), H2O_PANEL, shift, of_first);
    h2o_columns_sum_exp(means,  n_means,      H2O_PANEL, shift, of_means);

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        const float of_near = std::isnan(near[i]) ? 0.0f : expf(near[i] + shift[i]);

        sums[i] = logf(of_near + of_first[i] + GGML_H2O_PAGE*of_means[i]) - shift[i];
    }
}
