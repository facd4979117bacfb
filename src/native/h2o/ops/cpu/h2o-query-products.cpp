#include "h2o-query-products.h"

#ifdef H2O_HAS_AMX
static h2o_split h2o_split_at(const h2o_query_op & op, const float * data, int64_t n_all) {
    uint16_t * hi = (uint16_t *) data;

    return { hi, hi + op.n_rows(n_all)*op.d };
}
#endif

void h2o_keep_row(const h2o_query_op & op, const float * x, int64_t i, float * data, int64_t n_all) {
#ifdef H2O_HAS_AMX
    // in tiles of 16 rows, which are read one after the other
    const h2o_split rows = h2o_split_at(op, data, n_all) + i/16*16*op.d + i%16*H2O_AMX_K;

    for (int64_t k = 0; k < op.d; k += H2O_AMX_K) {
        h2o_amx_split(x + k, rows + k*16, H2O_AMX_K);
    }
#else
    GGML_UNUSED(op);
    GGML_UNUSED(x);
    GGML_UNUSED(i);
    GGML_UNUSED(data);
    GGML_UNUSED(n_all);
    GGML_ABORT("no tiles");
#endif
}

void h2o_multiply_rows(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_rows & rows, int64_t n, int64_t n_cols, float * out) {
#ifdef H2O_HAS_AMX
    if (op.tiles) {
        const h2o_split a = h2o_split_at(op, rows.data, rows.n_all);
        const h2o_split b = { (uint16_t *) w.queries, (uint16_t *) w.queries + op.d*H2O_PANEL };

        for (int64_t j = 0; j < n_cols; j += 16) {
            h2o_amx_pack_columns(w.scaled + j*op.d, op.d, op.d, b + j*op.d);
        }
        for (int64_t i = 0; i < n; i += H2O_AMX_ROWS) {
            for (int64_t j = 0; j < n_cols; j += H2O_AMX_COLS) {
                h2o_amx_gemm_tiles(a + i*op.d, 16*op.d, b + j*op.d, 16*op.d, op.d, nullptr, out + i*n_cols + j, n_cols);
            }
        }
        return;
    }
#endif
    h2o_pack_queries(w.queries, n_cols, op.d, n_cols, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });
    h2o_gemm(n, n_cols, op.d, { rows.data, op.d, 1 }, w.queries, n_cols, out, n_cols);
}
