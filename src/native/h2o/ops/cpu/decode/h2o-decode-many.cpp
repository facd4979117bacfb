#include "h2o-decode-many.h"

#include "h2o-decode-cells.h"
#include "h2o-decode-logits.h"
#include "h2o-decode-mask.h"

// A tile of keys is taken for a panel of rows at a time, with the rows side by side (h2o-columns.h).

namespace {

struct h2o_many_work {
    h2o_many_work(const h2o_decode_op & op, float * work) :
        q(work), k(q + n_cols(op)*op.d_k), v(k + H2O_DECODE_TILE*op.d_k), logits(v + H2O_DECODE_TILE*op.ld_v),
        mask(logits + H2O_DECODE_TILE*H2O_PANEL), channel(mask + op.n_tokens*H2O_DECODE_TILE) {}

    // rows in whole panels
    static int64_t n_cols(const h2o_decode_op & op) { return GGML_PAD(op.n_rows, H2O_PANEL); }

    float * q;       // [panel][d_k][columns of the panel], scaled
    float * k;       // [H2O_DECODE_TILE][d_k]
    float * v;       // [H2O_DECODE_TILE][ld_v]
    float * logits;  // [H2O_DECODE_TILE][columns of the panel]
    float * mask;    // [n_tokens][H2O_DECODE_TILE]
    float * channel; // [H2O_DECODE_TILE]
};

}

int64_t h2o_decode_many_work_size(const h2o_decode_op & op) {
    return h2o_many_work::n_cols(op)*op.d_k + H2O_DECODE_TILE*(op.d_k + op.ld_v + H2O_PANEL + op.n_tokens + 1);
}

static void h2o_many_unpack(const h2o_decode_op & op, const h2o_many_work & w, const h2o_decode_seen & seen, int64_t ih) {
    const h2o_decode_cells keys(op, op.k);
    for (int64_t i = 0; i < seen.n; ++i) {
        keys.read(seen.cells[i], ih, w.k + i*op.d_k);
    }

    if (!op.p.v_trans) {
        const h2o_decode_cells values(op, op.v);
        for (int64_t i = 0; i < seen.n; ++i) {
            values.read(seen.cells[i], ih, w.v + i*op.ld_v);
            std::fill(w.v + i*op.ld_v + op.d_v, w.v + (i + 1)*op.ld_v, 0.0f);
        }
        return;
    }

    const int64_t first = seen.cells[0];
    for (int64_t j = 0; j < op.ld_v; ++j) {
        if (j >= op.d_v) {
            std::fill(w.channel, w.channel + H2O_DECODE_TILE, 0.0f);
        } else {
            h2o_row_to_float(op.v->type, op.data(op.v) + ih*op.v->nb[2] + j*op.v->nb[1] + first*op.v->nb[0],
                    w.channel, seen.cells[seen.n - 1] + 1 - first);
        }
        for (int64_t i = 0; i < seen.n; ++i) {
            w.v[i*op.ld_v + j] = w.channel[seen.cells[i] - first];
        }
    }
}

// logits [n][n_cols] of rows row0.. become weights; what was summed before is scaled to them
static void h2o_many_weights(
        const h2o_decode_op & op, float * x, const h2o_decode_seen & seen, int64_t row0, int64_t n_rows, int64_t n_cols,
        h2o_decode_state state) {
    h2o_limit_columns(op, seen, row0, n_rows, x, n_cols);

    float max  [H2O_PANEL];
    float shift[H2O_PANEL];
    float sum  [H2O_PANEL] = {};

    std::fill(max, max + n_cols, -INFINITY);
    h2o_columns_max(x, seen.n, n_cols, max);

    for (int64_t c = 0; c < n_cols; ++c) {
        if (c < n_rows && max[c] > state.max[c]) {
            const float scale = expf(state.max[c] - max[c]);

            for (int64_t j = 0; j < op.ld_v; ++j) {
                state.o[c*op.ld_v + j] *= scale;
            }
            state.sum[c] *= scale;
            state.max[c]  = max[c];
        }
        shift[c] = c < n_rows ? -h2o_shift_of(state.max[c]) : 0.0f;
    }
    h2o_columns_exp(x, seen.n, n_cols, shift, sum);

    for (int64_t c = 0; c < n_rows; ++c) {
        state.sum[c] += sum[c];
    }
}

void h2o_decode_many(const h2o_decode_op & op, float * work, int64_t ih, int64_t range, h2o_decode_state state) {
    const h2o_many_work w(op, work);

    // f(first row, rows, columns): columns come in steps
    const auto each_panel = [&](auto f) {
        for (int64_t row0 = 0; row0 < op.n_rows; row0 += H2O_PANEL) {
            const int64_t n_rows = std::min<int64_t>(H2O_PANEL, op.n_rows - row0);
            f(row0, n_rows, h2o_col_pad(n_rows));
        }
    };

    each_panel([&](int64_t row0, int64_t n_rows, int64_t n_cols) {
        h2o_pack_queries(w.q + row0*op.d_k, n_cols, op.d_k, n_rows, op.p.scale, [&](int64_t i) { return op.query(ih, row0 + i); });
    });

    state.begin(op.n_rows, op.ld_v);
    h2o_decode_seen seen(op, w.mask);

    for (int64_t key = range*op.n_range; key < std::min(op.n_kv, (range + 1)*op.n_range); key += H2O_DECODE_TILE) {
        seen.find(key, std::min(op.n_kv, key + H2O_DECODE_TILE));
        if (seen.n == 0) {
            continue;
        }
        h2o_many_unpack(op, w, seen, ih);

        each_panel([&](int64_t row0, int64_t n_rows, int64_t n_cols) {
            const h2o_decode_state rows = state.from(row0, op.ld_v);

            h2o_gemm(seen.n, n_cols, op.d_k, { w.k, op.d_k, 1 }, w.q + row0*op.d_k, n_cols, w.logits, n_cols);

            h2o_many_weights(op, w.logits, seen, row0, n_rows, n_cols, rows);

            h2o_gemm(n_rows, op.ld_v, seen.n, { w.logits, 1, n_cols }, w.v, op.ld_v, rows.o, op.ld_v, true);
        });
    }
}
