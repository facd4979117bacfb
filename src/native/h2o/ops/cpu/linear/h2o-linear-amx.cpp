#include "h2o-linear-amx.h"

#include "../h2o-amx.h"

#ifndef H2O_HAS_AMX

bool h2o_linear_amx_supported(const ggml_tensor *) {
    return false;
}

void h2o_linear_amx_forward(const ggml_compute_params *, ggml_tensor *) {
}

size_t h2o_linear_amx_work_size(const ggml_tensor *, int) {
    return 0;
}

#else

#include "h2o-amx-weights.h"
#include "h2o-linear-run.h"

#include "../h2o-rows.h"

// A thread takes a panel of outputs, and of it as many values of the inner dimension at a time as fit its L2 cache
// unpacked. All rows of the slice pass over this, 32 at a time, which fit the L1 cache.

static constexpr int64_t H2O_PANEL_IN  = 1024; // a multiple of every block size
static constexpr int64_t H2O_PANEL_OUT = 256;

// from so many rows on, unpacking the weights costs less than it saves
static constexpr int64_t H2O_MIN_ROWS = 64;

// values of 16 rows of activations whose tiles stay in the L1 cache until they are full
static constexpr int64_t H2O_PIECE = 256;

namespace {

struct h2o_amx_linear : h2o_linear_op {
    h2o_amx_linear(const ggml_tensor * dst, int n_tasks, void * work = nullptr) :
        h2o_linear_op(dst, work), packed(h2o_amx_packed(w)), split(w->type == GGML_TYPE_F16),
        pad_in(GGML_PAD(n_in, H2O_AMX_K)), pad_slice(GGML_PAD(h2o_linear_slice(*this), H2O_AMX_ROWS)),
        // a few panels for each thread
        n_panel(std::min(H2O_PANEL_OUT, GGML_PAD((n_out + 2*n_tasks - 1)/(2*n_tasks), H2O_AMX_COLS))) {}

    const bool packed; // as ggml has it for AMX
    const bool split;  // F16 does not fit one BF16

    const int64_t pad_in;
    const int64_t pad_slice;
    const int64_t n_panel;

    int64_t n_parts()     const { return split ? 2 : 1; }
    int64_t size_x()      const { return n_parts()*pad_slice*pad_in*sizeof(uint16_t); }
    int64_t size_panel()  const { return n_parts()*H2O_PANEL_OUT*H2O_PANEL_IN*sizeof(uint16_t); }
    int64_t size_rows()   const { return 16*H2O_PANEL_IN*sizeof(float); }
    // fewer threads than were planned have wider panels
    int64_t size_sums()   const { return pad_slice*std::min(H2O_PANEL_OUT, GGML_PAD(n_out, H2O_AMX_COLS))*sizeof(float); }
    int64_t size_thread() const { return size_panel() + size_rows() + size_sums(); }
};

struct h2o_amx_linear_work {
    h2o_amx_linear_work(const h2o_amx_linear & op, const ggml_compute_params * params) {
        char * base = (char *) op.order + op.size_order();
        char * own  = base + op.size_x() + params->ith*op.size_thread();

        x     = { (uint16_t *) base, (uint16_t *) base + op.pad_slice*op.pad_in };
        panel = { (uint16_t *) own,  (uint16_t *) own  + H2O_PANEL_OUT*H2O_PANEL_IN };
        rows  = (float *) (own + op.size_panel());
        sums  = (float *) (own + op.size_panel() + op.size_rows());
    }

    h2o_split x;     // activations of the slice, tiles [rows/16][in/32] of 16 rows by 32
    h2o_split panel; // weights, tiles [out/16][in/32]
    float   * rows;  // 16 rows of weights, in F32
    float   * sums;  // of a panel so far, blocks [rows/32][out/32] of 32 by 32
};

}

// 32 values of a row, the last of them zeros where n are there
static void h2o_pack_piece(const h2o_amx_linear & op, const float * src, int64_t n, h2o_split dst) {
    float piece[H2O_AMX_K] = {};
    if (n < H2O_AMX_K) {
        std::copy_n(src, n, piece);
        src = piece;
    }
    if (op.split) {
        h2o_amx_split(src, dst, H2O_AMX_K);
    } else {
        h2o_amx_round(src, dst.hi, H2O_AMX_K);
    }
}

// 16 rows from row `begin` on, with zeros where there are no more
static void h2o_pack_activations(const h2o_amx_linear & op, int64_t begin, int64_t end, h2o_split dst) {
    for (int64_t k0 = 0; k0 < op.pad_in; k0 += H2O_PIECE) {
        for (int64_t i = 0; i < 16; ++i) {
            const float * row = op.row(std::min(begin + i, end - 1));

            for (int64_t k = k0; k < std::min(k0 + H2O_PIECE, op.pad_in); k += H2O_AMX_K) {
                const int64_t n = begin + i < end ? std::min(H2O_AMX_K, op.n_in - k) : 0;
                h2o_pack_piece(op, row + k, n, dst + k*16 + i*H2O_AMX_K);
            }
        }
    }
}

// 16 rows of weights from row n on, values [k, k + n_k), with zeros where there are no more
static void h2o_unpack_weights(const h2o_amx_linear & op, int64_t n, int64_t k, int64_t n_k, float * rows, h2o_split dst) {
    if (op.packed) {
        h2o_amx_unpack(op.w, n, k, n_k, dst.hi);
        return;
    }
    if (n + 16 <= op.n_out && h2o_amx_unpack_int8(op, n, k, n_k, dst.hi)) {
        return;
    }
    const int64_t n_given = std::min(n_k, op.n_in - k);
    for (int64_t i = 0; i < 16; ++i) {
        float * row = rows + i*n_k;
        std::fill_n(row, n_k, 0.0f);
        if (n + i < op.n_out) {
            h2o_row_to_float(op.w->type, op.weights(0, n + i, k), row, n_given);
        }
    }
    if (op.split) {
        h2o_amx_pack_columns(rows, n_k, n_k, dst);
    } else {
        h2o_amx_pack_rounded(rows, n_k, 16, dst.hi);
    }
}

// 32 rows by 32 outputs from tiles, on top of sum
static void h2o_amx_block(
        const h2o_amx_linear & op, h2o_split x, h2o_split w, int64_t n_k, const float * sum, float * c, int64_t ldc) {
    if (op.split) {
        h2o_amx_gemm_tiles(x, op.pad_in*16, w, n_k*16, n_k, sum, c, ldc);
    } else {
        h2o_amx_gemm_tiles_rounded(x.hi, op.pad_in*16, w.hi, n_k*16, n_k, sum, c, ldc);
    }
}

static void h2o_amx_panel(const h2o_amx_linear & op, const h2o_amx_linear_work & work, const h2o_linear_panel & panel) {
    const int64_t begin = panel.begin;
    const int64_t end   = panel.end;

    for (int64_t k = 0; k < op.pad_in; k += H2O_PANEL_IN) {
        const int64_t n_k  = std::min(H2O_PANEL_IN, op.pad_in - k);
        const bool    last = k + n_k == op.pad_in;

        for (int64_t j = begin; j < GGML_PAD(end - begin, H2O_AMX_COLS) + begin; j += 16) {
            h2o_unpack_weights(op, j, k, n_k, work.rows, work.panel + (j - begin)*n_k);
        }

        float * sum = work.sums;
        for (int64_t i = 0; i < panel.rows.n; i += H2O_AMX_ROWS) {
            const h2o_split x      = work.x + i*op.pad_in + k*16;
            const int64_t   n_here = std::min(H2O_AMX_ROWS, panel.rows.n - i);

            for (int64_t j = begin; j < end; j += H2O_AMX_COLS, sum += H2O_AMX_ROWS*H2O_AMX_COLS) {
                const h2o_split w      = work.panel + (j - begin)*n_k;
                const int64_t   n_cols = std::min(H2O_AMX_COLS, end - j);
                const bool      whole  = n_here == H2O_AMX_ROWS && n_cols == H2O_AMX_COLS;

                float * c = op.out_row(panel.rows.first + i) + j;

                h2o_amx_block(op, x, w, n_k, k > 0 ? sum : nullptr, last && whole ? c : sum,
                        last && whole ? op.n_out : H2O_AMX_COLS);

                for (int64_t r = 0; last && !whole && r < n_here; ++r) {
                    std::copy_n(sum + r*H2O_AMX_COLS, n_cols, c + r*op.n_out);
                }
            }
        }
    }
}

bool h2o_linear_amx_supported(const ggml_tensor * dst) {
    const ggml_tensor * w = dst->src[0];

    return dst->op == GGML_OP_MUL_MAT && ggml_nrows(dst) >= H2O_MIN_ROWS && w->type != GGML_TYPE_F32 && h2o_amx_available() &&
        (h2o_amx_packed(w) || h2o_amx_plain(w) || h2o_amx_repacked(w));
}

void h2o_linear_amx_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_amx_linear      op(dst, params->nth, params->wdata);
    const h2o_amx_linear_work work(op, params);
    const h2o_amx_scope       scope;

    h2o_linear_run(params, op, op.n_panel,
        [&](h2o_linear_rows slice) {
            for (int64_t i = 16*params->ith; i < GGML_PAD(slice.n, H2O_AMX_ROWS); i += 16*params->nth) {
                h2o_pack_activations(op, slice.first + i, slice.end(), work.x + i*op.pad_in);
            }
        },
        [&](const h2o_linear_panel & panel) { h2o_amx_panel(op, work, panel); });
}

size_t h2o_linear_amx_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_amx_linear op(dst, n_tasks);

    return op.size_order() + op.size_x() + n_tasks*op.size_thread() + H2O_ALIGN;
}

#endif
