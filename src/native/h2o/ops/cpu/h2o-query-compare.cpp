#include "h2o-query-compare.h"

#include "h2o-query-channels.h"
#include "h2o-rows.h"

#include <cmath>
#include <optional>

#ifdef H2O_HAS_INT8_SEARCH
static int8_t * h2o_queries_int8(const h2o_query_work & w) {
    return (int8_t *) w.queries;
}

static const uint8_t * h2o_keys_int8(const h2o_query_op & op, const h2o_query_keys & keys, int64_t page) {
    return (const uint8_t *) keys.rows + page*GGML_H2O_PAGE*op.n_channels;
}

// of a page's mean
static const float * h2o_base(const h2o_query_keys & keys, const h2o_query_work & w, int64_t page) {
    static const float zeros[H2O_PANEL] = {};

    return keys.mean_pages[page] < 0 ? zeros : h2o_logits_of_mean(w, keys.mean_pages[page]);
}

static void h2o_pack_int8(const h2o_query_op & op, const h2o_query_work & w, h2o_compared & out) {
    const int64_t n = op.n_channels;

    int8_t * rows = h2o_queries_int8(w) + n*H2O_PANEL;

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        const float bad = h2o_take_channels(op, w, w.scaled + i*op.d, nullptr, w.part);

        out.scales [i] = h2o_int8_round(w.part, n, H2O_INT8_QUERY, rows + i*n) + bad;
        out.inverse[i] = out.scales[i] > 0.0f || bad != 0.0f ? 1.0f/out.scales[i] : H2O_INT8_MOST;

        int32_t sum = 0;
        for (int64_t j = 0; j < n; ++j) {
            sum += rows[i*n + j];
        }
        out.begin[i] = -H2O_INT8_OFFSET*sum;
    }
    h2o_int8_turn(rows, n, h2o_queries_int8(w));
}

// Where sums of products begin, so that the key of a page that a query wants ends at zero or above.
static void h2o_begin_sums(const h2o_compared & queries, const float * base, float scale, int32_t * begin) {
    const float inverse = scale > 0.0f ? 1.0f/scale : H2O_INT8_MOST;

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        const float x = (queries.bars[i] - base[i])*queries.inverse[i]*inverse;
        const float y = x < H2O_INT8_MOST ? x : H2O_INT8_MOST; // NaN: out of reach
        const float z = y > -H2O_INT8_MOST ? y : -H2O_INT8_MOST;

        const int32_t down = (int32_t) z; // ceilf would be a call each
        begin[i] = queries.begin[i] - (down + (z > (float) down));
    }
}

static void h2o_compare_int8(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries) {
#ifdef H2O_HAS_AMX
    std::optional<h2o_amx_scope> tiles;
    if (op.tiles) {
        tiles.emplace(h2o_amx_bytes(op.n_channels));
    }
#endif
    for (int64_t page = 0; page < op.n_all_pages(); ++page) {
        int32_t begin[H2O_PANEL];
        h2o_begin_sums(queries, h2o_base(keys, w, page), keys.scales[page], begin);

        w.wanted[page] = keys.valid[page] & h2o_int8_compare_page(
                h2o_keys_int8(op, keys, page), h2o_queries_int8(w), begin, op.n_channels, op.tiles, (int32_t *) w.logits);
    }
}
#endif

// keys of a page that some query gives more than its bar, by how much at most
static uint64_t h2o_wanted_bits(const float * scores, int64_t n) {
    uint64_t res = 0;
    for (int64_t i = 0; i < n; ++i) {
        res |= (uint64_t) (scores[i] >= 0.0f) << i;
    }
    return res;
}

static void h2o_compare_f32(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries) {
    float shift[H2O_PANEL];
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = -queries.bars[i];
    }
    for (int64_t page = 0; page < op.n_all_pages(); ++page) {
        h2o_score_page(op, keys, w, queries, page);
        h2o_rows_max_shifted(w.logits, op.n_keys_of(page), shift, w.scores);
        w.wanted[page] = h2o_wanted_bits(w.scores, op.n_keys_of(page));
    }
}

void h2o_pack_compared(const h2o_query_op & op, const h2o_query_work & w, h2o_compared & out) {
#ifdef H2O_HAS_INT8_SEARCH
    if (op.scoring == H2O_SCORING_INT8) {
        h2o_pack_int8(op, w, out);
        return;
    }
#endif
    GGML_UNUSED(out);
    h2o_pack_queries(w.queries, H2O_PANEL, op.d, H2O_PANEL, 1.0f, [&](int64_t i) { return w.scaled + i*op.d; });
}

int64_t h2o_compare_keys(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries) {
    switch (op.scoring) {
        case H2O_SCORING_F32:  h2o_compare_f32 (op, keys, w, queries); break;
#ifdef H2O_HAS_INT8_SEARCH
        case H2O_SCORING_INT8: h2o_compare_int8(op, keys, w, queries); break;
#endif
        default: GGML_ABORT("unknown scoring of GGML_H2O_OP_QUERY");
    }
    int64_t n = 0;
    for (int64_t page = 0; page < op.n_all_pages(); ++page) {
        n += h2o_count_bits(w.wanted[page]);
    }
    return n;
}

void h2o_score_page(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries, int64_t page) {
#ifdef H2O_HAS_INT8_SEARCH
    if (op.scoring == H2O_SCORING_INT8) {
        h2o_int8_score_page(h2o_keys_int8(op, keys, page), h2o_queries_int8(w), queries.begin, op.n_channels,
                keys.scales[page], queries.scales, h2o_base(keys, w, page), w.logits);
        return;
    }
#endif
    GGML_UNUSED(queries);
    h2o_gemm(GGML_H2O_PAGE, H2O_PANEL, op.d, { (const float *) keys.rows + page*GGML_H2O_PAGE*op.d, op.d, 1 }, w.queries, H2O_PANEL,
            w.logits, H2O_PANEL);
}
