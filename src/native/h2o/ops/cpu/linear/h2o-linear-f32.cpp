#include "h2o-linear-f32.h"

#if !defined(__AVX2__) || !defined(__FMA__)

bool h2o_linear_f32_supported(const ggml_tensor *) {
    return false;
}

void h2o_linear_f32_forward(const ggml_compute_params *, ggml_tensor *) {
}

size_t h2o_linear_f32_work_size(const ggml_tensor *, int) {
    return 0;
}

#else

#include "h2o-linear-run.h"

#include "../h2o-gemm.h"
#include "../h2o-rows.h"

#include "ggml-backend.h"

#include <immintrin.h>

// A thread takes a panel of outputs, and of it as many values of the inner dimension at a time as fit its L2 cache
// unpacked. All rows pass over this, a few at a time, which fit the L1 cache. The outputs that the micro-kernel takes at once lie
// together, in a strip: rows of a whole panel would share a few sets of that cache.

static constexpr int64_t H2O_PANEL_IN  = 512; // a multiple of every block size
static constexpr int64_t H2O_PANEL_OUT = 128;
static constexpr int64_t H2O_STRIP     = H2O_GEMM_RN*H2O_VEC_N;

static_assert(H2O_PANEL_OUT % H2O_STRIP == 0, "a panel holds whole strips");

// where an output's column begins in a panel [strips][H2O_PANEL_IN][H2O_STRIP]
static int64_t h2o_column_at(int64_t j) {
    return j/H2O_STRIP*H2O_STRIP*H2O_PANEL_IN + j%H2O_STRIP;
}

// from so many rows on, unpacking the weights costs less than it saves; ggml is slower with experts
static constexpr int64_t H2O_MIN_ROWS        = 512;
static constexpr int64_t H2O_MIN_ROWS_EXPERT = 64;

// rows of weights that are unpacked before they are turned
static constexpr int64_t H2O_TURN = 4;

namespace {

struct h2o_f32_linear : h2o_linear_op {
    explicit h2o_f32_linear(const ggml_tensor * dst, void * work = nullptr) :
        h2o_linear_op(dst, work), ld_tail(ids ? H2O_PANEL_OUT : H2O_GEMM_COLS) {}

    const int64_t ld_tail;

    // activations of a slice, where those of an expert do not lie together
    int64_t size_x() const { return ids ? GGML_PAD(h2o_linear_slice(*this)*n_in*sizeof(float), H2O_ALIGN) : 0; }

    int64_t size_thread() const {
        const int64_t size_tail = h2o_linear_slice(*this)*ld_tail;
        return GGML_PAD((H2O_PANEL_IN*H2O_PANEL_OUT + H2O_TURN*H2O_PANEL_IN + size_tail)*sizeof(float), H2O_ALIGN);
    }
};

struct h2o_f32_linear_work {
    h2o_f32_linear_work(const h2o_f32_linear & op, const ggml_compute_params * params) {
        char * base = (char *) op.order + op.size_order();

        x     = (float *) base;
        panel = (float *) (base + op.size_x() + params->ith*op.size_thread());
        rows  = panel + H2O_PANEL_IN*H2O_PANEL_OUT;
        tail  = rows + H2O_TURN*H2O_PANEL_IN;
    }

    float * x;     // activations of a slice by expert, [rows][in]
    float * panel; // weights, as h2o_column_at says
    float * rows;  // some of them as they are unpacked
    float * tail;  // [rows][ld_tail] outputs that go to their place later: no whole vector, or of rows that lie anywhere
};

}

// four rows of an expert's weights from row n on, values [k, k + n_k), to columns of a strip; zeros where there are no more
static void h2o_unpack_columns(
        const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, float * rows, float * strip) {
    for (int64_t i = 0; i < H2O_TURN; ++i) {
        if (n + i < op.n_out) {
            h2o_row_to_float(op.w->type, op.weights(e, n + i, k), rows + i*H2O_PANEL_IN, n_k);
        } else {
            std::fill_n(rows + i*H2O_PANEL_IN, n_k, 0.0f);
        }
    }
    int64_t j = 0;
    for (; j + 4 <= n_k; j += 4) {
        __m128 a = _mm_loadu_ps(rows + 0*H2O_PANEL_IN + j);
        __m128 b = _mm_loadu_ps(rows + 1*H2O_PANEL_IN + j);
        __m128 c = _mm_loadu_ps(rows + 2*H2O_PANEL_IN + j);
        __m128 d = _mm_loadu_ps(rows + 3*H2O_PANEL_IN + j);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(strip + (j + 0)*H2O_STRIP, a);
        _mm_storeu_ps(strip + (j + 1)*H2O_STRIP, b);
        _mm_storeu_ps(strip + (j + 2)*H2O_STRIP, c);
        _mm_storeu_ps(strip + (j + 3)*H2O_STRIP, d);
    }
    for (; j < n_k; ++j) {
        for (int64_t i = 0; i < H2O_TURN; ++i) {
            strip[j*H2O_STRIP + i] = rows[i*H2O_PANEL_IN + j];
        }
    }
}

static void h2o_f32_panel(const h2o_f32_linear & op, const h2o_f32_linear_work & work, const h2o_linear_panel & panel) {
    const int64_t n_rows  = panel.rows.n;
    const int64_t n_cols  = panel.end - panel.begin;
    const int64_t n_whole = op.ids ? 0 : n_cols/H2O_GEMM_COLS*H2O_GEMM_COLS;

    const float * x = op.ids ? work.x + (panel.rows.first - panel.slice.first)*op.n_in : op.row(panel.rows.first);

    for (int64_t k = 0; k < op.n_in; k += H2O_PANEL_IN) {
        const int64_t n_k = std::min(H2O_PANEL_IN, op.n_in - k);

        for (int64_t j = 0; j < GGML_PAD(n_cols, H2O_GEMM_COLS); j += H2O_TURN) {
            h2o_unpack_columns(op, panel.expert, panel.begin + j, k, n_k, work.rows, work.panel + h2o_column_at(j));
        }
        const auto multiply = [&](int64_t begin, int64_t end, float * c, int64_t ldc) {
            for (int64_t i = 0; i < n_rows; i += H2O_GEMM_RM) {
                const int64_t n_here = std::min<int64_t>(H2O_GEMM_RM, n_rows - i);
                const h2o_gemm_rows here = { x + i*op.n_in + k, op.n_in, 1 };

                for (int64_t j = begin, next; j < end; j = next) {
                    next = std::min(end, (j/H2O_STRIP + 1)*H2O_STRIP);
                    h2o_gemm(n_here, next - j, n_k, here, work.panel + h2o_column_at(j), H2O_STRIP, c + i*ldc + j - begin, ldc, k > 0);
                }
            }
        };
        if (n_whole > 0) {
            multiply(0, n_whole, op.out_row(panel.rows.first) + panel.begin, op.n_out);
        }
        if (n_whole < n_cols) {
            multiply(n_whole, GGML_PAD(n_cols, H2O_GEMM_COLS), work.tail, op.ld_tail);
        }
    }
    for (int64_t i = 0; n_whole < n_cols && i < n_rows; ++i) {
        std::copy_n(work.tail + i*op.ld_tail, n_cols - n_whole, op.out_row(panel.rows.first + i) + panel.begin + n_whole);
    }
}

// ggml's own kernels are slower, but for BF16 where the processor multiplies it
static bool h2o_f32_is_faster(ggml_type type) {
#if defined(__AVX512BF16__)
    return type == GGML_TYPE_F16;
#else
    return type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
#endif
}

bool h2o_linear_f32_supported(const ggml_tensor * dst) {
    const ggml_tensor * w = dst->src[0];

    const bool has_rows = h2o_linear_rows_each(dst) >= (dst->op == GGML_OP_MUL_MAT ? H2O_MIN_ROWS : H2O_MIN_ROWS_EXPERT);

    // buffers that are not the host's hold packed weights
    return has_rows && h2o_f32_is_faster(w->type) && w->buffer && ggml_backend_buffer_is_host(w->buffer);
}

void h2o_linear_f32_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_f32_linear      op(dst, params->wdata);
    const h2o_f32_linear_work work(op, params);

    // a few panels for each thread
    const int64_t n_panel  = std::min(H2O_PANEL_OUT, GGML_PAD((op.n_out + 4*params->nth - 1)/(4*params->nth), 2*H2O_GEMM_COLS));

    h2o_linear_run(params, op, n_panel,
        [&](h2o_linear_rows slice) {
            for (int64_t i = params->ith; op.ids && i < slice.n; i += params->nth) {
                std::copy_n(op.row(slice.first + i), op.n_in, work.x + i*op.n_in);
            }
        },
        [&](const h2o_linear_panel & panel) { h2o_f32_panel(op, work, panel); });
}

size_t h2o_linear_f32_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_f32_linear op(dst);

    return op.size_order() + op.size_x() + n_tasks*op.size_thread() + H2O_ALIGN;
}

#endif
