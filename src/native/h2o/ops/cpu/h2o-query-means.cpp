#include "h2o-query-means.h"

#ifdef H2O_HAS_AMX
static h2o_split h2o_mean_tiles(const h2o_query_op & op, const h2o_query_keys & keys) {
    uint16_t * hi = (uint16_t *) keys.means;

    return { hi, hi + op.n_mean_rows()*op.d };
}
#endif

void h2o_keep_mean(const h2o_query_op & op, const h2o_query_keys & keys, int64_t ih_kv, int64_t i) {
#ifdef H2O_HAS_AMX
    // in tiles of 16 rows, which are read one after the other
    const h2o_split row  = h2o_mean_tiles(op, keys) + i/16*16*op.d + i%16*H2O_AMX_K;
    const float   * mean = op.pages_of(ih_kv) + i*op.d;

    for (int64_t k = 0; k < op.d; k += H2O_AMX_K) {
        h2o_amx_split(mean + k, row + k*16, H2O_AMX_K);
    }
#else
    GGML_UNUSED(op);
    GGML_UNUSED(keys);
    GGML_UNUSED(ih_kv);
    GGML_UNUSED(i);
    GGML_ABORT("no tiles");
#endif
}

void h2o_multiply_means(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv) {
    const int64_t n = op.p.n_pages;
#ifdef H2O_HAS_AMX
    if (op.tiles) {
        const h2o_split a = h2o_mean_tiles(op, keys);
        const h2o_split b = { (uint16_t *) w.queries, (uint16_t *) w.queries + op.d*H2O_PANEL };

        for (int64_t j = 0; j < H2O_PANEL; j += 16) {
            h2o_amx_pack_columns(w.scaled + j*op.d, op.d, op.d, b + j*op.d);
        }
        for (int64_t i = 0; i < n; i += H2O_AMX_ROWS) {
            for (int64_t j = 0; j < H2O_PANEL; j += H2O_AMX_COLS) {
                h2o_amx_gemm_tiles(
                        a + i*op.d, 16*op.d, b + j*op.d, 16*op.d, op.d, nullptr, w.means + i*H2O_PANEL + j, H2O_PANEL);
            }
        }
        return;
    }
#else
    GGML_UNUSED(keys);
#endif
    h2o_pack_queries(w.queries, H2O_PANEL, op.d, H2O_PANEL, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });
    h2o_gemm(n, H2O_PANEL, op.d, { op.pages_of(ih_kv), op.d, 1 }, w.queries, H2O_PANEL, w.means, H2O_PANEL);
}
