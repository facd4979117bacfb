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

#include "h2o-amx-softmax.h"
#include "h2o-attn-cells.h"
#include "h2o-attn-inputs.h"
#include "h2o-share.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cmath>

// Keys come in pieces with online softmax, so what a piece makes of some rows stays in the L1 and L2 cache. Over neighbouring
// keys all threads pack a chunk's keys and values, then each takes tiles of rows. Over sets a thread takes a block of queries
// as a whole, and packs a piece for all of its rows.

static constexpr int64_t H2O_TILE  = H2O_AMX_ROWS;
static constexpr int64_t H2O_PIECE = 128; // keys
static constexpr int64_t H2O_LD    = H2O_PIECE + 32; // rows of logits are not a power of two apart

// rows that share a set: those of a block of queries of one head
static constexpr int64_t H2O_ROWS = GGML_H2O_BLOCK;

namespace {

struct h2o_amx_op : h2o_attn_inputs {
    explicit h2o_amx_op(const ggml_tensor * dst) :
        h2o_attn_inputs(dst), pad_k(GGML_PAD(d_k, H2O_AMX_K)), pad_v(GGML_PAD(d_v, H2O_AMX_COLS)),
        n_pieces((n_keys + H2O_PIECE - 1)/H2O_PIECE) {}

    const int64_t pad_k;
    const int64_t pad_v;
    const int64_t n_pieces; // of neighbouring keys

    // floats; two BF16 are as much
    int64_t size_piece()  const { return H2O_PIECE*(pad_k + pad_v); }
    int64_t size_shared() const { return set ? 0 : n_head*n_pieces*size_piece(); } // packed by all threads together
    int64_t size_thread() const {
        return 2*H2O_TILE*H2O_LD + H2O_ROWS*(pad_k + pad_v) + 32*std::max(pad_k, pad_v) + (set ? size_piece() : 0);
    }
};

// the packed keys and values of a piece: tiles of 16 keys by pad_k, tiles of 16 channels by H2O_PIECE
struct h2o_amx_piece {
    h2o_amx_piece(const h2o_amx_op & op, float * base) {
        k = { (uint16_t *) base, (uint16_t *) base + H2O_PIECE*op.pad_k };
        v = { k.lo + H2O_PIECE*op.pad_k, k.lo + H2O_PIECE*(op.pad_k + op.pad_v) };
    }

    h2o_split k;
    h2o_split v;
};

struct h2o_amx_work {
    h2o_amx_work(const h2o_amx_op & op, const ggml_compute_params * params) {
        shared  = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN);
        logits  = shared + op.size_shared() + params->ith*op.size_thread();
        weights = { (uint16_t *) (logits + H2O_TILE*H2O_LD), nullptr };
        weights.lo = weights.hi + H2O_TILE*H2O_LD;
        q       = { weights.lo + H2O_TILE*H2O_LD, nullptr };
        q.lo    = q.hi + H2O_ROWS*op.pad_k;
        o       = (float *) (q.lo + H2O_ROWS*op.pad_k);
        rows    = o + H2O_ROWS*op.pad_v;
        own     = rows + 32*std::max(op.pad_k, op.pad_v);
    }

    float   * shared;  // the pieces of all heads
    float   * logits;  // [H2O_TILE][H2O_LD]
    h2o_split weights; // [H2O_TILE][H2O_LD]
    h2o_split q;       // [H2O_ROWS][pad_k], scaled
    float   * o;       // [H2O_ROWS][pad_v]
    float   * rows;    // 32 keys or values as F32
    float   * own;     // a piece of a set
};

// of some rows
struct h2o_amx_state {
    float max[H2O_ROWS]; // the largest logit so far, as a power of two
    float sum[H2O_ROWS]; // of the weights relative to it
};

}

static const float * h2o_q_at(const h2o_amx_op & op, const h2o_attn_cells & cells, int64_t row) {
    return (const float *) op.q->data + op.index(cells.ic, cells.ih, row)*op.d_k;
}

// 32 of the keys of a piece, from its key i on, and their values: n of them are there. Zeros past those, and past a head's
// channels
static void h2o_pack_32(
        const h2o_amx_op & op, const h2o_amx_work & w, const h2o_attn_cells & cells, int64_t key, int64_t n,
        const h2o_amx_piece & piece, int64_t i) {
    const auto clear = [&](int64_t d, int64_t pad) {
        for (int64_t r = 0; r < n && d < pad; ++r) {
            std::fill(w.rows + r*pad + d, w.rows + (r + 1)*pad, 0.0f);
        }
        std::fill(w.rows + n*pad, w.rows + 32*pad, 0.0f);
    };

    cells.read_k(op, key, n, w.rows, op.pad_k);
    clear(op.d_k, op.pad_k);
    h2o_amx_pack_columns(w.rows,               op.pad_k, op.pad_k, piece.k + i*op.pad_k);
    h2o_amx_pack_columns(w.rows + 16*op.pad_k, op.pad_k, op.pad_k, piece.k + (i + 16)*op.pad_k);

    cells.read_v(op, key, n, w.rows, op.pad_v);
    clear(op.d_v, op.pad_v);
    h2o_amx_pack_rows(w.rows, op.pad_v, op.pad_v, piece.v + i/32*H2O_AMX_TILE, H2O_PIECE/32*H2O_AMX_TILE);
}

// n rows from row0 on, with zeros up to whole tiles
static void h2o_pack_queries(
        const h2o_amx_op & op, const h2o_amx_work & w, const h2o_attn_cells & cells, int64_t row0, int64_t n, h2o_amx_state & state) {
    for (int64_t i = 0; i < n; ++i) {
        h2o_prefetch((const char *) h2o_q_at(op, cells, row0 + i), op.d_k*sizeof(float));
    }
    for (int64_t i = 0; i < GGML_PAD(n, H2O_TILE); ++i) {
        float * row = w.rows; // not used yet
        std::fill(row, row + op.pad_k, 0.0f);

        if (i < n) {
            const float * q = h2o_q_at(op, cells, row0 + i);
            for (int64_t j = 0; j < op.d_k; ++j) {
                row[j] = q[j]*op.p.scale;
            }
        }
        h2o_amx_split(row, w.q + i*op.pad_k, op.pad_k);
    }
    std::fill(w.o, w.o + H2O_ROWS*op.pad_v, 0.0f);
    std::fill(state.max, state.max + H2O_ROWS, -INFINITY);
    std::fill(state.sum, state.sum + H2O_ROWS, 0.0f);
}

// rows [row0, row0 + n) of the packed ones, of a head from its row `first` on, over n_keys of a piece, from key on
static void h2o_attn_to_piece(
        const h2o_amx_op & op, const h2o_amx_work & w, const h2o_attn_cells & cells, const h2o_amx_piece & piece,
        int64_t key, int64_t n_keys, int64_t first, int64_t row0, int64_t n, h2o_amx_state & state) {
    const int64_t n_pad = GGML_PAD(n_keys, 32);

    for (int64_t j = 0; j < n_pad; j += H2O_AMX_COLS) {
        h2o_amx_gemm(w.q + row0*op.pad_k, op.pad_k, piece.k + j*op.pad_k, 16*op.pad_k, op.pad_k, w.logits + j, H2O_LD);
    }
    for (int64_t i = 0; i < n; ++i) {
        const int64_t n_seen = cells.set ? n_keys : std::min(n_keys, op.n_visible(first + row0 + i + 1) - key);
        for (int64_t j = std::max<int64_t>(n_seen, 0); j < n_pad; ++j) {
            w.logits[i*H2O_LD + j] = -INFINITY;
        }
    }
    float * o = w.o + row0*op.pad_v;

    for (int64_t i = 0; i < H2O_TILE; i += 16) {
        h2o_amx_weigh(w.logits + i*H2O_LD, w.weights + i*H2O_LD, H2O_LD, n_pad, state.max + row0 + i, state.sum + row0 + i,
                o + i*op.pad_v, op.pad_v);
    }
    for (int64_t j = 0; j < op.pad_v; j += H2O_AMX_COLS) {
        const int64_t stride = H2O_PIECE/32*H2O_AMX_TILE;

        h2o_amx_gemm(w.weights, H2O_LD, piece.v + j/16*stride, stride, n_pad, o + j, op.pad_v, true);
    }
}

static void h2o_write_rows(
        const h2o_amx_op & op, const h2o_amx_work & w, const h2o_attn_cells & cells, ggml_tensor * dst, int64_t row0, int64_t n,
        const h2o_amx_state & state) {
    for (int64_t i = 0; i < n; ++i) {
        h2o_write_row(op, dst, op.index(cells.ic, cells.ih, row0 + i), w.o + i*op.pad_v, 1.0f/state.sum[i],
                state.max[i]/H2O_LOG2E + logf(state.sum[i]));
    }
}

static void h2o_over_sets(const h2o_amx_op & op, const h2o_amx_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t       n_sets = op.set->ne[2];
    const h2o_amx_piece piece(op, w.own);

    h2o_share_out(params, op.n_head*n_sets, [&](int64_t i) {
        const h2o_attn_cells cells = h2o_attn_cells::of_set(op, i/n_sets, i%n_sets);

        const int64_t n_all = op.n_members(i/n_sets, i%n_sets);
        const int64_t row   = i%n_sets*H2O_ROWS;
        const int64_t n     = std::min(H2O_ROWS, op.n_rows - row);

        h2o_amx_state state;
        h2o_pack_queries(op, w, cells, row, n, state);

        for (int64_t key = 0; key < n_all; key += H2O_PIECE) {
            const int64_t n_keys = std::min(H2O_PIECE, n_all - key);

            for (int64_t j = 0; j < n_keys; j += 32) {
                h2o_pack_32(op, w, cells, key + j, std::min<int64_t>(32, n_keys - j), piece, j);
            }
            for (int64_t j = 0; j < n; j += H2O_TILE) {
                h2o_attn_to_piece(op, w, cells, piece, key, n_keys, row, j, std::min(H2O_TILE, n - j), state);
            }
        }
        h2o_write_rows(op, w, cells, dst, row, n, state);
    });
}

static void h2o_over_cells(const h2o_amx_op & op, const h2o_amx_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t n_packs = (op.n_keys + 31)/32;
    const int64_t n_tiles = (op.n_rows + H2O_TILE - 1)/H2O_TILE;

    const auto piece = [&](int64_t ih, int64_t key) {
        return h2o_amx_piece(op, w.shared + (ih*op.n_pieces + key/H2O_PIECE)*op.size_piece());
    };

    for (int64_t ic = 0; ic < op.n_chunks; ++ic) {
        if (ic > 0) {
            ggml_barrier(params->threadpool); // the chunk before is still read
        }
        for (int64_t i = params->ith; i < op.n_head*n_packs; i += params->nth) {
            const int64_t ih  = i/n_packs;
            const int64_t key = i%n_packs*32;

            h2o_pack_32(op, w, { ic, ih, nullptr }, key, std::min<int64_t>(32, op.n_keys - key), piece(ih, key), key%H2O_PIECE);
        }

        h2o_share_out(params, op.n_head*n_tiles, [&](int64_t i) {
            const h2o_attn_cells cells = { ic, i/n_tiles, nullptr };

            const int64_t row   = i%n_tiles*H2O_TILE;
            const int64_t n     = std::min(H2O_TILE, op.n_rows - row);
            const int64_t n_vis = op.n_visible(row + n);

            h2o_amx_state state;
            h2o_pack_queries(op, w, cells, row, n, state);

            for (int64_t key = 0; key < n_vis; key += H2O_PIECE) {
                h2o_attn_to_piece(op, w, cells, piece(cells.ih, key), key, std::min(H2O_PIECE, n_vis - key), row, 0, n, state);
            }
            h2o_write_rows(op, w, cells, dst, row, n, state);
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
        h2o_over_sets(op, w, params, dst);
    } else {
        h2o_over_cells(op, w, params, dst);
    }
}

size_t h2o_attn_amx_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_amx_op op(dst);

    return (op.size_shared() + n_tasks*op.size_thread())*sizeof(float) + H2O_ALIGN;
}

#endif
