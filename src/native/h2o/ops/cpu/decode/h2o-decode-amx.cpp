#include "h2o-decode-amx.h"

#include "h2o-amx.h"

#ifndef H2O_HAS_AMX

bool h2o_decode_amx_supported(const h2o_decode_op &) {
    return false;
}

int64_t h2o_decode_amx_work_size(const h2o_decode_op &) {
    return 0;
}

void h2o_decode_amx(const h2o_decode_op &, float *, int64_t, int64_t, h2o_decode_state) {
}

#else

#include "h2o-decode-cells.h"
#include "h2o-decode-logits.h"
#include "h2o-decode-mask.h"

#include "h2o-amx-softmax.h"

// Keys and values of a tile are packed once, then 32 rows at a time pass over them.

// rows of logits are not a power of two apart
static constexpr int64_t H2O_LD = H2O_DECODE_TILE + 32;

namespace {

struct h2o_amx_decode {
    explicit h2o_amx_decode(const h2o_decode_op & op) :
        pad_k(GGML_PAD(op.d_k, H2O_AMX_K)), pad_v(GGML_PAD(op.d_v, H2O_AMX_COLS)), pad_rows(GGML_PAD(op.n_rows, H2O_AMX_ROWS)) {}

    const int64_t pad_k;
    const int64_t pad_v;
    const int64_t pad_rows;

    // floats; two BF16 are as much
    int64_t size_q()    const { return pad_rows*pad_k; }
    int64_t size_k()    const { return H2O_DECODE_TILE*pad_k; }
    int64_t size_v()    const { return H2O_DECODE_TILE*pad_v; }
    int64_t size_o()    const { return pad_rows*pad_v; }
    int64_t size_rows() const { return 32*std::max(pad_k, pad_v); }
};

struct h2o_amx_decode_work {
    h2o_amx_decode_work(const h2o_amx_decode & n, float * work) {
        const auto split = [&](int64_t size) -> h2o_split {
            uint16_t * at = (uint16_t *) work;
            work += size;
            return { at, at + size };
        };
        q       = split(n.size_q());
        k       = split(n.size_k());
        v       = split(n.size_v());
        weights = split(H2O_AMX_ROWS*H2O_LD);
        logits  = work;
        o       = logits + H2O_AMX_ROWS*H2O_LD;
        max     = o      + n.size_o();
        sum     = max    + n.pad_rows;
        rows    = sum    + n.pad_rows;
        mask    = rows   + n.size_rows();
    }

    static int64_t size(const h2o_decode_op & op, const h2o_amx_decode & n) {
        return n.size_q() + n.size_k() + n.size_v() + H2O_AMX_ROWS*2*H2O_LD + n.size_o() + 2*n.pad_rows + n.size_rows() +
            op.n_tokens*H2O_DECODE_TILE;
    }

    h2o_split q;       // [pad_rows][pad_k], scaled
    h2o_split k;       // tiles of 16 keys by pad_k
    h2o_split v;       // tiles of 16 channels by keys
    h2o_split weights; // [32][H2O_LD]
    float   * logits;  // [32][H2O_LD]
    float   * o;       // [pad_rows][pad_v]
    float   * max;     // [pad_rows], powers of two
    float   * sum;     // [pad_rows]
    float   * rows;    // 32 keys or values as F32
    float   * mask;    // [n_tokens][H2O_DECODE_TILE]
};

}

bool h2o_decode_amx_supported(const h2o_decode_op & op) {
    // two BF16 hold all of what other types have and less than F32, which stock's attention keeps
    const bool is_exact = op.k->type != GGML_TYPE_F32 && op.v->type != GGML_TYPE_F32;

    return is_exact && op.n_rows >= H2O_AMX_ROWS && !op.has_few_rows && h2o_amx_available();
}

int64_t h2o_decode_amx_work_size(const h2o_decode_op & op) {
    return h2o_amx_decode_work::size(op, h2o_amx_decode(op));
}

// 32 of the cells from i on; zeros past the last one and past the head's channels
static void h2o_amx_pack_cells(
        const h2o_decode_op & op, const h2o_amx_decode & n, const h2o_amx_decode_work & w, const h2o_decode_seen & seen,
        int64_t ih, int64_t i) {
    const int64_t n_here = std::min<int64_t>(32, seen.n - i);

    std::fill(w.rows, w.rows + 32*n.pad_k, 0.0f);
    const h2o_decode_cells keys(op, op.k);
    for (int64_t r = 0; r < n_here; ++r) {
        keys.read(seen.cells[i + r], ih, w.rows + r*n.pad_k);
    }
    h2o_amx_pack_columns(w.rows,              n.pad_k, n.pad_k, w.k + i*n.pad_k);
    h2o_amx_pack_columns(w.rows + 16*n.pad_k, n.pad_k, n.pad_k, w.k + (i + 16)*n.pad_k);

    std::fill(w.rows, w.rows + 32*n.pad_v, 0.0f);
    if (!op.p.v_trans) {
        const h2o_decode_cells values(op, op.v);
        for (int64_t r = 0; r < n_here; ++r) {
            values.read(seen.cells[i + r], ih, w.rows + r*n.pad_v);
        }
    } else {
        const int64_t first = seen.cells[i];

        float channel[H2O_DECODE_TILE];
        for (int64_t j = 0; j < op.d_v; ++j) {
            h2o_row_to_float(op.v->type, op.data(op.v) + ih*op.v->nb[2] + j*op.v->nb[1] + first*op.v->nb[0],
                    channel, seen.cells[i + n_here - 1] + 1 - first);
            for (int64_t r = 0; r < n_here; ++r) {
                w.rows[r*n.pad_v + j] = channel[seen.cells[i + r] - first];
            }
        }
    }
    h2o_amx_pack_rows(w.rows, n.pad_v, n.pad_v, w.v + i/32*H2O_AMX_TILE, H2O_DECODE_TILE/32*H2O_AMX_TILE);
}

// the logits of a row of a KV head over the keys that are seen, with -inf up to n_pad
static void h2o_limit_row(const h2o_decode_op & op, const h2o_decode_seen & seen, int64_t row, float * x, int64_t n_pad) {
    if (op.p.cap > 0.0f) {
        h2o_cap_logits(x, n_pad, op.p.cap);
    }
    if (!seen.is_plain) {
        h2o_mask_logits(x, seen.of_token(row/op.n_group), seen.n);
    }
    std::fill(x + seen.n, x + n_pad, -INFINITY);
}

// 32 rows from row0 on, some of which may be past the last, over the packed cells
static void h2o_amx_decode_rows(
        const h2o_decode_op & op, const h2o_amx_decode & n, const h2o_amx_decode_work & w, const h2o_decode_seen & seen,
        int64_t row0) {
    const int64_t n_pad = GGML_PAD(seen.n, 32);

    for (int64_t i = 0; i < n_pad; i += 32) {
        h2o_amx_gemm(w.q + row0*n.pad_k, n.pad_k, w.k + i*n.pad_k, 16*n.pad_k, n.pad_k, w.logits + i, H2O_LD);
    }
    for (int64_t r = row0; r < std::min(op.n_rows, row0 + H2O_AMX_ROWS); ++r) {
        h2o_limit_row(op, seen, r, w.logits + (r - row0)*H2O_LD, n_pad);
    }
    for (int64_t r = 0; r < H2O_AMX_ROWS; r += 16) {
        h2o_amx_weigh(w.logits + r*H2O_LD, w.weights + r*H2O_LD, H2O_LD, n_pad, w.max + row0 + r, w.sum + row0 + r,
                w.o + (row0 + r)*n.pad_v, n.pad_v);
    }

    const int64_t stride = H2O_DECODE_TILE/32*H2O_AMX_TILE;

    for (int64_t j = 0; j < n.pad_v; j += H2O_AMX_COLS) {
        h2o_amx_gemm(w.weights, H2O_LD, w.v + j/16*stride, stride, n_pad, w.o + row0*n.pad_v + j, n.pad_v, true);
    }
}

void h2o_decode_amx(const h2o_decode_op & op, float * work, int64_t ih, int64_t range, h2o_decode_state state) {
    const h2o_amx_decode      n(op);
    const h2o_amx_decode_work w(n, work);
    const h2o_amx_scope       scope;

    for (int64_t row = 0; row < n.pad_rows; ++row) {
        std::fill(w.rows, w.rows + n.pad_k, 0.0f);

        if (row < op.n_rows) {
            const float * q = op.query(ih, row);
            for (int64_t j = 0; j < op.d_k; ++j) {
                w.rows[j] = q[j]*op.p.scale;
            }
        }
        h2o_amx_split(w.rows, w.q + row*n.pad_k, n.pad_k);
    }

    std::fill(w.o,   w.o   + n.size_o(), 0.0f);
    std::fill(w.max, w.max + n.pad_rows, -INFINITY);
    std::fill(w.sum, w.sum + n.pad_rows, 0.0f);

    h2o_decode_seen seen(op, w.mask);

    for (int64_t key = range*op.n_range; key < std::min(op.n_kv, (range + 1)*op.n_range); key += H2O_DECODE_TILE) {
        seen.find(key, std::min(op.n_kv, key + H2O_DECODE_TILE));

        for (int64_t i = 0; i < seen.n; i += 32) {
            h2o_amx_pack_cells(op, n, w, seen, ih, i);
        }
        for (int64_t row = 0; row < op.n_rows && seen.n > 0; row += H2O_AMX_ROWS) {
            h2o_amx_decode_rows(op, n, w, seen, row);
        }
    }

    for (int64_t row = 0; row < op.n_rows; ++row) {
        std::copy(w.o + row*n.pad_v, w.o + row*n.pad_v + op.d_v, state.o + row*op.ld_v);
        state.max[row] = w.max[row]/H2O_LOG2E;
        state.sum[row] = w.sum[row];
    }
}

#endif
