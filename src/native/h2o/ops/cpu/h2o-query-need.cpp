#include "h2o-query-need.h"

#include "h2o-rows.h"

#include <cmath>

// Each block has few needy queries, and they are rows of a product: those of one block alone would leave most of it empty.

#ifdef H2O_HAS_AMX
static_assert(H2O_NEEDY_ROWS == H2O_AMX_ROWS, "rows of a product in tiles");

static h2o_split h2o_landmark_tiles(const h2o_query_op & op, const h2o_query_keys & keys) {
    uint16_t * hi = (uint16_t *) keys.landmarks;

    return { hi, hi + op.n_landmark_cols()*op.d };
}
#endif

void h2o_pack_landmarks(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t begin, int64_t end) {
    const h2o_cells cells(op.k, ih_kv);

    const int32_t * at    = op.landmarks_of(ih_kv);
    const int64_t   n_all = op.n_landmarks_of(ih_kv);

    for (int64_t first = begin*H2O_PANEL; first < std::min(n_all, end*H2O_PANEL); first += H2O_PANEL) {
        const int64_t n = std::min<int64_t>(H2O_PANEL, n_all - first);

        cells.read_each(at + first, n, w.scaled, op.d);
        std::fill(w.scaled + n*op.d, w.scaled + H2O_PANEL*op.d, 0.0f);
#ifdef H2O_HAS_AMX
        if (op.tiles) {
            for (int64_t i = 0; i < H2O_PANEL; i += 16) {
                h2o_amx_pack_columns(w.scaled + i*op.d, op.d, op.d, h2o_landmark_tiles(op, keys) + (first + i)*op.d);
            }
            continue;
        }
#endif
        h2o_pack_queries(keys.landmarks + first*op.d, H2O_PANEL, op.d, H2O_PANEL, 1.0f,
                [&](int64_t i) { return w.scaled + i*op.d; });
    }
}

// The needy queries: those whose own surroundings give them the least, by log-sum-exp per key; ties to the lower position.
static int64_t h2o_find_needy(const h2o_query_op & op, const h2o_query_block & b, int32_t * out) {
    float   needs[GGML_H2O_BLOCK];
    int32_t keys [GGML_H2O_BLOCK];

    for (int64_t i = 0; i < b.n; ++i) {
        needs[i] = logf(op.p.n_near + b.begin + i + 1) - op.lse_at(b.begin + i, b.ih);
    }
    h2o_order_keys(needs, b.n, keys);

    const int64_t n = h2o_take_best(keys, b.n, GGML_H2O_NEEDY, out);
    for (int64_t i = 0; i < n; ++i) {
        out[i] += b.begin;
    }
    return n;
}

// logits of the first n landmarks for w.scaled [H2O_NEEDY_ROWS][d], into w.logits: rows of op.n_landmark_cols
static void h2o_multiply_landmarks(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t n) {
    const int64_t ld = op.n_landmark_cols();
#ifdef H2O_HAS_AMX
    if (op.tiles) {
        const h2o_split rows = { (uint16_t *) w.queries, (uint16_t *) w.queries + H2O_NEEDY_ROWS*op.d };

        h2o_amx_split(w.scaled, rows, H2O_NEEDY_ROWS*op.d);
        for (int64_t i = 0; i < n; i += H2O_AMX_COLS) {
            h2o_amx_gemm(rows, op.d, h2o_landmark_tiles(op, keys) + i*op.d, 16*op.d, op.d, w.logits + i, ld);
        }
        return;
    }
#endif
    for (int64_t i = 0; i < n; i += H2O_PANEL) {
        h2o_gemm(H2O_NEEDY_ROWS, H2O_PANEL, op.d, { w.scaled, op.d, 1 }, keys.landmarks + i*op.d, H2O_PANEL, w.logits + i, ld);
    }
}

// out: the landmarks that rows of logits, shifted, want most
static void h2o_take_landmarks(
        const h2o_query_op & op, const h2o_query_work & w, int64_t ih_kv, const float * logits, const float * shift, int32_t * out) {
    const int32_t * at    = op.landmarks_of(ih_kv);
    const int64_t   n_all = op.n_landmarks_of(ih_kv);

    std::fill(w.scores, w.scores + n_all, -INFINITY);
    for (int64_t j = 0; j < GGML_H2O_NEEDY; ++j) {
        const float * x = logits + j*op.n_landmark_cols();

        for (int64_t i = 0; i < n_all; ++i) { // NaN does not count
            w.scores[i] = x[i] + shift[j] > w.scores[i] ? x[i] + shift[j] : w.scores[i];
        }
    }
    h2o_order_keys(w.scores, n_all, w.keys);

    const int64_t n = h2o_take_best(w.keys, n_all, op.p.n_by_need, out);
    for (int64_t i = 0; i < n; ++i) {
        out[i] = at[out[i]];
    }
}

void h2o_choose_by_need(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih, int64_t first) {
    const int64_t ih_kv    = op.kv_head(ih);
    const int64_t n_blocks = std::min(H2O_NEEDY_BLOCKS, op.n_blocks - first);

    float shift[H2O_NEEDY_ROWS];

    std::fill(shift, shift + H2O_NEEDY_ROWS, -INFINITY); // no query
    std::fill(w.scaled, w.scaled + H2O_NEEDY_ROWS*op.d, 0.0f);

    for (int64_t i = 0; i < n_blocks; ++i) {
        int32_t needy[GGML_H2O_NEEDY];
        const int64_t n = h2o_find_needy(op, op.block(ih, first + i), needy);

        for (int64_t j = 0; j < n; ++j) {
            const int64_t row = i*GGML_H2O_NEEDY + j;

            op.read_query(needy[j], ih, w.scaled + row*op.d);
            shift[row] = -op.lse_at(needy[j], ih);
        }
    }
    h2o_multiply_landmarks(op, keys, w, op.n_landmarks_of(ih_kv));

    for (int64_t i = 0; i < n_blocks; ++i) {
        const int64_t row = i*GGML_H2O_NEEDY;

        h2o_take_landmarks(op, w, ih_kv, w.logits + row*op.n_landmark_cols(), shift + row, op.set_at(ih, first + i));
    }
}
