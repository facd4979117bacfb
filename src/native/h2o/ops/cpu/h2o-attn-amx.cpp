#include "h2o-attn-amx.h"

#include "h2o-amx.h"

#ifndef H2O_HAS_AMX

bool h2o_attn_amx_supported(const ggml_tensor *) {
    return false;
}

void h2o_forward_attn_amx(const ggml_compute_params *, ggml_tensor *) {
}

size_t h2o_attn_amx_work_size(const ggml_tensor *, int) {
    return 0;
}

#else

#include "h2o-attn-cells.h"
#include "h2o-attn-inputs.h"
#include "h2o-share.h"
#include "h2o-softmax.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cmath>

// Over neighbouring keys all threads pack a chunk's keys and values, then each takes tiles of rows. Over sets a thread
// takes a block of queries and a KV head as a whole.

static constexpr size_t  H2O_ALIGN = 64;
static constexpr int64_t H2O_TILE  = H2O_AMX_ROWS;

namespace {

struct h2o_amx_op : h2o_attn_inputs {
    explicit h2o_amx_op(const ggml_tensor * dst) :
        h2o_attn_inputs(dst), pad_k(GGML_PAD(d_k, H2O_AMX_K)), pad_v(GGML_PAD(d_v, H2O_AMX_COLS)),
        pad_keys(GGML_PAD(n_keys, 32)) {}

    const int64_t pad_k;
    const int64_t pad_v;
    const int64_t pad_keys;

    // rows that share their keys
    int64_t n_rows_of_set() const { return set ? GGML_H2O_BLOCK*n_group : n_rows; }

    // floats; two BF16 are as much
    int64_t size_kv()     const { return pad_keys*(pad_k + pad_v); }
    int64_t ld_logits()   const { return pad_keys + H2O_ROW_STEP; } // not a power of two
    int64_t size_thread() const {
        return H2O_TILE*(2*ld_logits() + pad_k + pad_v) + 32*std::max(pad_k, pad_v);
    }
    int64_t n_shared() const { return set ? 0 : n_head; } // packed by all threads together

    // The packed keys and values of a head: tiles of 16 keys by d_k, tiles of 16 channels by keys
    h2o_split keys  (float * kv) const { return { (uint16_t *) kv, (uint16_t *) kv + pad_keys*pad_k }; }
    h2o_split values(float * kv) const { return { keys(kv).lo + pad_keys*pad_k, keys(kv).lo + pad_keys*(pad_k + pad_v) }; }
};

struct h2o_amx_work {
    h2o_amx_work(const h2o_amx_op & op, const ggml_compute_params * params) {
        float * base = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN);

        const int64_t size_own = GGML_PAD(op.size_thread() + (op.set ? op.size_kv() : 0), 16);

        shared  = base;
        logits  = base + op.n_shared()*op.size_kv() + params->ith*size_own;
        weights = { (uint16_t *) (logits + H2O_TILE*op.ld_logits()), nullptr };
        weights.lo = weights.hi + H2O_TILE*op.ld_logits();
        q       = { weights.lo + H2O_TILE*op.ld_logits(), nullptr };
        q.lo    = q.hi + H2O_TILE*op.pad_k;
        o       = (float *) (q.lo + H2O_TILE*op.pad_k);
        rows    = o + H2O_TILE*op.pad_v;
        own     = rows + 32*std::max(op.pad_k, op.pad_v);
    }

    float   * shared; // packed keys and values of all heads
    float   * logits;
    h2o_split weights;
    h2o_split q;
    float   * o;
    float   * rows;   // 32 keys or values as F32
    float   * own;    // packed keys and values of one set
};

// where the keys of some rows are
struct h2o_amx_keys {
    h2o_attn_cells cells;
    int64_t        n;  // of them
    float        * kv; // packed

    // those that the rows before row_end can see
    int64_t n_visible(const h2o_amx_op & op, int64_t row_end) const { return cells.set ? n : op.n_visible(row_end); }
};

}

static const float * h2o_q_at(const h2o_amx_op & op, const h2o_amx_keys & keys, int64_t row) {
    return (const float *) op.q->data + op.index(keys.cells.ic, keys.cells.ih, row)*op.d_k;
}

// 32 of the keys and their values; zeros past the last one, and past a head's channels
static void h2o_pack_32(const h2o_amx_op & op, const h2o_amx_work & w, const h2o_amx_keys & keys, int64_t key0) {
    const int64_t n = std::min<int64_t>(32, keys.n - key0);

    const auto clear = [&](int64_t d, int64_t pad) {
        for (int64_t i = 0; i < n && d < pad; ++i) {
            std::fill(w.rows + i*pad + d, w.rows + (i + 1)*pad, 0.0f);
        }
        std::fill(w.rows + n*pad, w.rows + 32*pad, 0.0f);
    };

    keys.cells.read_k(op, key0, n, w.rows, op.pad_k);
    clear(op.d_k, op.pad_k);
    h2o_amx_pack_columns(w.rows,               op.pad_k, op.pad_k, op.keys(keys.kv) + key0*op.pad_k);
    h2o_amx_pack_columns(w.rows + 16*op.pad_k, op.pad_k, op.pad_k, op.keys(keys.kv) + (key0 + 16)*op.pad_k);

    keys.cells.read_v(op, key0, n, w.rows, op.pad_v);
    clear(op.d_v, op.pad_v);
    h2o_amx_pack_rows(w.rows, op.pad_v, op.pad_v, op.values(keys.kv) + key0/32*H2O_AMX_TILE, op.pad_keys/32*H2O_AMX_TILE);
}

// rows [row0, row0 + n) of one head of one chunk, 32 at most
static void h2o_amx_rows(
        const h2o_amx_op & op, const h2o_amx_work & w, const h2o_amx_keys & keys, ggml_tensor * dst, int64_t row0, int64_t n) {
    const int64_t ld    = op.ld_logits();
    const int64_t n_vis = keys.n_visible(op, row0 + n);
    const int64_t n_pad = GGML_PAD(n_vis, 32);

    for (int64_t i = 0; i < n; ++i) {
        h2o_prefetch((const char *) h2o_q_at(op, keys, row0 + i), op.d_k*sizeof(float));
    }
    for (int64_t i = 0; i < H2O_TILE; ++i) {
        float * row = w.o; // not used yet
        std::fill(row, row + op.pad_k, 0.0f);

        if (i < n) {
            const float * q = h2o_q_at(op, keys, row0 + i);
            for (int64_t j = 0; j < op.d_k; ++j) {
                row[j] = q[j]*op.p.scale;
            }
        }
        h2o_amx_split(row, w.q + i*op.pad_k, op.pad_k);
    }

    for (int64_t key = 0; key < n_pad; key += H2O_AMX_COLS) {
        h2o_amx_gemm(w.q, op.pad_k, op.keys(keys.kv) + key*op.pad_k, 16*op.pad_k, op.pad_k, w.logits + key, ld);
    }

    float lse[H2O_TILE];
    float sum[H2O_TILE];

    for (int64_t i = 0; i < n; ++i) {
        float * x = w.logits + i*ld;

        std::fill(x + keys.n_visible(op, row0 + i + 1), x + n_pad, -INFINITY);

        const float max = h2o_row_max(x, n_pad);
        sum[i] = h2o_row_exp(x, n_pad, max);
        lse[i] = max + logf(sum[i]);
        h2o_amx_split(x, w.weights + i*ld, n_pad);
    }
    for (int64_t i = n; i < H2O_TILE; ++i) {
        std::fill(w.weights.hi + i*ld, w.weights.hi + i*ld + n_pad, 0);
        std::fill(w.weights.lo + i*ld, w.weights.lo + i*ld + n_pad, 0);
    }

    for (int64_t j = 0; j < op.pad_v; j += H2O_AMX_COLS) {
        const int64_t stride = op.pad_keys/32*H2O_AMX_TILE;

        h2o_amx_gemm(w.weights, ld, op.values(keys.kv) + j/16*stride, stride, n_pad, w.o + j, op.pad_v);
    }

    for (int64_t i = 0; i < n; ++i) {
        h2o_write_row(op, dst, op.index(keys.cells.ic, keys.cells.ih, row0 + i), w.o + i*op.pad_v, 1.0f/sum[i], lse[i]);
    }
}

static void h2o_amx_over_sets(const h2o_amx_op & op, const h2o_amx_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t n_sets = op.set->ne[2];

    h2o_share_out(params, op.n_head*n_sets, [&](int64_t i) {
        const int64_t ih = i/n_sets;
        const int64_t is = i%n_sets;

        const h2o_amx_keys keys = { h2o_attn_cells::of_set(op, ih, is), op.n_members(ih, is), w.own };
        for (int64_t key = 0; key < keys.n; key += 32) {
            h2o_pack_32(op, w, keys, key);
        }

        const int64_t row_end = std::min((is + 1)*op.n_rows_of_set(), op.n_rows);

        for (int64_t row = is*op.n_rows_of_set(); row < row_end; row += H2O_TILE) {
            h2o_amx_rows(op, w, keys, dst, row, std::min(H2O_TILE, row_end - row));
        }
    });
}

static void h2o_amx_over_cells(const h2o_amx_op & op, const h2o_amx_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t n_packs = op.pad_keys/32;
    const int64_t n_tiles = (op.n_rows + H2O_TILE - 1)/H2O_TILE;

    for (int64_t ic = 0; ic < op.n_chunks; ++ic) {
        const auto keys = [&](int64_t ih) -> h2o_amx_keys { return { { ic, ih, nullptr }, op.n_keys, w.shared + ih*op.size_kv() }; };

        if (ic > 0) {
            ggml_barrier(params->threadpool); // the chunk before is still read
        }
        for (int64_t i = params->ith; i < op.n_head*n_packs; i += params->nth) {
            h2o_pack_32(op, w, keys(i/n_packs), i%n_packs*32);
        }

        h2o_share_out(params, op.n_head*n_tiles, [&](int64_t i) {
            const int64_t row = i%n_tiles*H2O_TILE;

            h2o_amx_rows(op, w, keys(i/n_tiles), dst, row, std::min(H2O_TILE, op.n_rows - row));
        });
    }
}

bool h2o_attn_amx_supported(const ggml_tensor * dst) {
    return h2o_amx_available() && h2o_has_panels(dst);
}

void h2o_forward_attn_amx(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_amx_op    op(dst);
    const h2o_amx_work  w(op, params);
    const h2o_amx_scope scope;

    if (op.set) {
        h2o_amx_over_sets(op, w, params, dst);
    } else {
        h2o_amx_over_cells(op, w, params, dst);
    }
}

size_t h2o_attn_amx_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_amx_op op(dst);

    const int64_t size_own = GGML_PAD(op.size_thread() + (op.set ? op.size_kv() : 0), 16);

    return (op.n_shared()*op.size_kv() + n_tasks*size_own)*sizeof(float) + H2O_ALIGN;
}

#endif
