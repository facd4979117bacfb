#include "h2o-linear-int16.h"

#include "../h2o-gemm-int16.h"

#ifndef H2O_HAS_INT16

bool h2o_linear_int16_supported(const ggml_tensor *) {
    return false;
}

void h2o_linear_int16_forward(const ggml_compute_params *, ggml_tensor *) {
}

size_t h2o_linear_int16_work_size(const ggml_tensor *, int) {
    return 0;
}

#else

#include "h2o-int8-pieces.h"
#include "h2o-linear-run.h"

#include "../h2o-rows.h"

// A thread takes a panel of outputs, and of it a slab of the inner dimension at a time. The panel is unpacked to F32, rounded
// output by output, and lies in strips as wide as the micro-kernel: one of them stays in the L1 cache while a block of rows passes
// over it, and these rows stay in the L2 cache. Sums of a slab are scaled and added up in F32.

using V = h2o_int8_lanes;

static constexpr int64_t H2O_PANEL_OUT = 128;
static constexpr int64_t H2O_STRIP     = H2O_INT16_RN*V::N;
static constexpr int64_t H2O_ROWS      = 32*H2O_INT16_RM;

// a strip of so many values fits the L1 cache; a multiple of every block size
static constexpr int64_t H2O_SLAB = V::N == 16 ? 256 : 512;

static_assert(H2O_PANEL_OUT % H2O_STRIP == 0, "a panel holds whole strips");

// rows of weights that are unpacked before they are turned
static constexpr int64_t H2O_TURN = 4;

// weights of 16 bits, which no reader has side by side
static bool h2o_is_half(ggml_type type) {
    return type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

namespace {

struct h2o_int16_linear : h2o_linear_op {
    explicit h2o_int16_linear(const ggml_tensor * dst, void * work = nullptr) :
        h2o_linear_op(dst, work),
        n_slab(w->type == GGML_TYPE_F16 ? 256 : H2O_SLAB), // the shorter a slab, the finer its units
        n_slice(h2o_linear_slice(*this)), ld_tail(ids ? H2O_PANEL_OUT : V::N) {}

    const int64_t n_slab;
    const int64_t n_slice;
    const int64_t ld_tail;

    // values of a row of a slab, with zeros behind them
    int64_t ld_x(int64_t k) const { return GGML_PAD(std::min(n_slab, n_in - k), H2O_INT16_STEP); }

    int64_t size_x()      const { return GGML_PAD(n_slice*GGML_PAD(n_in, H2O_INT16_STEP)*sizeof(int16_t), H2O_ALIGN); }
    int64_t size_unit_x() const { return GGML_PAD(n_slice*((n_in + n_slab - 1)/n_slab)*sizeof(float), H2O_ALIGN); }
    int64_t size_panel()  const { return H2O_PANEL_OUT*n_slab*sizeof(int16_t); }
    int64_t size_strip()  const { return H2O_STRIP*n_slab*sizeof(float); }
    int64_t size_turn()   const { return H2O_TURN*n_slab*sizeof(float); }
    int64_t size_tail()   const { return n_slice*ld_tail*sizeof(float); }
    int64_t size_thread() const {
        return size_panel() + size_strip() + size_turn() + GGML_PAD(H2O_PANEL_OUT*sizeof(float) + size_tail(), H2O_ALIGN);
    }
};

struct h2o_int16_linear_work {
    h2o_int16_linear_work(const h2o_int16_linear & op, const ggml_compute_params * params) {
        char * base = (char *) op.order + op.size_order();
        char * own  = base + op.size_x() + op.size_unit_x() + params->ith*op.size_thread();

        x      = (int16_t *) base;
        unit_x = (float *) (base + op.size_x());
        panel  = (int16_t *) own;
        strip  = (float *) (own + op.size_panel());
        turn   = (float *) (own + op.size_panel() + op.size_strip());
        unit_w = (float *) (own + op.size_panel() + op.size_strip() + op.size_turn());
        tail   = unit_w + H2O_PANEL_OUT;
    }

    // activations of the slice by slabs: [slabs][rows][ld_x]
    int16_t * x;
    float   * unit_x; // [slabs][rows]

    int16_t * panel;  // weights, [strips][n_slab/2][H2O_STRIP][2]
    float   * unit_w; // [H2O_PANEL_OUT]
    float   * strip;  // before they are rounded, [n_slab][H2O_STRIP]
    float   * turn;   // some rows of them as they are unpacked
    float   * tail;   // [rows][ld_tail] outputs that go to their place later: no whole vector, or of rows that lie anywhere
};

// where the pieces of some rows go in a strip
template <typename Layout>
struct sink {
    static constexpr h2o_int8_format FORMAT = Layout::FORMAT;
    static constexpr int64_t         N_NEXT = Layout::PIECE_BYTES;

    float      * strip;
    const char * next; // weights that come after these: N_NEXT bytes of them are fetched with each piece

    H2O_INLINE sink from(int64_t b) const { return { strip + b*H2O_INT8_BLOCK*H2O_STRIP, next + b*N_NEXT }; }

    H2O_INLINE void put(int64_t b, const h2o_int8_pieces::piece & p) const {
        const sink to = from(b);
        h2o_int8_fetch(to.next, N_NEXT);
        for (int64_t s = 0; s < H2O_INT8_BLOCK/4; ++s) {
            h2o_int8_pieces::for_each<4>([&](auto i) {
                constexpr bool SIGNED = FORMAT.bits == 8 && FORMAT.offset == 0;

                const V::ints   q = SIGNED ? V::signed_right<24>(V::left<24 - 8*i>(p.q[s])) : h2o_int8_pieces::byte_at<i>(p.q[s]);
                const V::floats x = V::mul(V::to_f32(V::add32(q, V::set1(-FORMAT.offset))), p.scale[s*FORMAT.n_parts/(H2O_INT8_BLOCK/4)]);
                V::store(to.strip + (4*s + i)*H2O_STRIP, x);
            });
        }
    }
};

}

// four rows of an expert's weights from row n on, values [k, k + n_k), to columns of a strip; zeros where there are no more
static void h2o_unpack_columns(const h2o_int16_linear & op, int64_t e, int64_t n, int64_t k, int64_t n_k, float * rows, float * strip) {
    for (int64_t i = 0; i < H2O_TURN; ++i) {
        float * row = rows + i*op.n_slab;
        if (n + i < op.n_out) {
            h2o_row_to_float(op.w->type, op.weights(e, n + i, k), row, n_k);
            std::fill(row + n_k, row + GGML_PAD(n_k, 4), 0.0f);
        } else {
            std::fill_n(row, GGML_PAD(n_k, 4), 0.0f);
        }
    }
    for (int64_t j = 0; j < n_k; j += 4) {
        __m128 a = _mm_loadu_ps(rows + 0*op.n_slab + j);
        __m128 b = _mm_loadu_ps(rows + 1*op.n_slab + j);
        __m128 c = _mm_loadu_ps(rows + 2*op.n_slab + j);
        __m128 d = _mm_loadu_ps(rows + 3*op.n_slab + j);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(strip + (j + 0)*H2O_STRIP, a);
        _mm_storeu_ps(strip + (j + 1)*H2O_STRIP, b);
        _mm_storeu_ps(strip + (j + 2)*H2O_STRIP, c);
        _mm_storeu_ps(strip + (j + 3)*H2O_STRIP, d);
    }
}

// the weights of at most H2O_STRIP outputs from n on, of n_cols in all
static void h2o_unpack_strip(
        const h2o_int16_linear & op, const h2o_int16_linear_work & work, int64_t e, int64_t n, int64_t n_cols, int64_t k, int64_t n_k) {
    if (h2o_is_half(op.w->type)) {
        for (int64_t j = 0; j < n_cols; j += H2O_TURN) {
            h2o_unpack_columns(op, e, n + j, k, n_k, work.turn, work.strip + j);
        }
        return;
    }
    h2o_int8_pieces::visit(op.w, [&](auto layout) {
        using Layout = decltype(layout);
        for (int64_t j = 0; j < n_cols; j += V::N) {
            Layout::read(op, e, n + j, k, n_k, sink<Layout>{ work.strip + j, Layout::at(op, e, n + j + H2O_STRIP, k) });
        }
    });
}

// a vector of columns of a strip, [n_pairs][2], to pairs of a panel's
static void h2o_round_columns(const float * strip, int64_t n_pairs, int16_t * out, float * unit) {
    h2o_vec max = h2o_vec_zero();
    h2o_vec sum = h2o_vec_zero();
    for (int64_t k = 0; k < 2*n_pairs; ++k) {
        const h2o_vec y = h2o_vec_load(strip + k*H2O_STRIP);

        max = h2o_vec_max(h2o_vec_abs(y), max);
        sum = h2o_vec_fma(sum, y, y);
    }
    float inverse[V::N];
    float most   [V::N];
    float squares[V::N];
    h2o_vec_store(most,    max);
    h2o_vec_store(squares, sum);
    for (int i = 0; i < V::N; ++i) {
        unit   [i] = h2o_int16_unit({ most[i] + 0.0f*squares[i], sqrtf(squares[i]) });
        inverse[i] = h2o_inverse(unit[i]);
    }
    const V::floats by = V::loadf(inverse);
    for (int64_t k = 0; k < n_pairs; ++k) {
        const float * at = strip + 2*k*H2O_STRIP;
        V::store(out + 2*k*H2O_STRIP, V::pair16(h2o_int16_round(at, by), h2o_int16_round(at + H2O_STRIP, by)));
    }
}

// values [k, k + n_k) of n_cols outputs
static void h2o_fill_panel(
        const h2o_int16_linear & op, const h2o_int16_linear_work & work, const h2o_linear_panel & panel, int64_t n_cols, int64_t k, int64_t n_k) {
    for (int64_t j = 0; j < n_cols; j += H2O_STRIP) {
        const int64_t n_here = std::min(H2O_STRIP, n_cols - j);

        h2o_unpack_strip(op, work, panel.expert, panel.begin + j, n_here, k, n_k);
        for (int64_t i = 0; i < n_here; i += V::N) {
            h2o_round_columns(work.strip + i, (n_k + 1)/2, work.panel + j*op.n_slab + 2*i, work.unit_w + j + i);
        }
    }
}

// c [n_rows][ldc], outputs [begin, end) of a panel, = rows x panel over the slab from k on, or added to what is there
static void h2o_multiply_panel(
        const h2o_int16_linear & op, const h2o_int16_linear_work & work, const h2o_linear_panel & panel, int64_t k, int64_t n_k,
        int64_t begin, int64_t end, float * c, int64_t ldc) {
    const int64_t   ld   = op.ld_x(k);
    const int64_t   from = panel.rows.first - panel.slice.first;
    const int16_t * x    = work.x + k*panel.slice.n + from*ld;
    const float   * unit = work.unit_x + k/op.n_slab*panel.slice.n + from;

    for (int64_t block = 0; block < panel.rows.n; block += H2O_ROWS) {
        const int64_t last = std::min(panel.rows.n, block + H2O_ROWS);

        for (int64_t j = begin, next; j < end; j = next) {
            next = std::min(end, (j/H2O_STRIP + 1)*H2O_STRIP);

            const int16_t * strip = work.panel + j/H2O_STRIP*H2O_STRIP*op.n_slab + j%H2O_STRIP*2;
            for (int64_t i = block; i < last; i += H2O_INT16_RM) {
                float * at = c + i*ldc + j - begin;

                // rows of the result are far from each other: the next ones are not there in time by themselves
                for (int64_t r = H2O_INT16_RM; r < 2*H2O_INT16_RM && i + r < last; ++r) {
                    h2o_prefetch<1>((const char *) (at + r*ldc), (next - j)*sizeof(float));
                }
                h2o_int16_gemm(std::min<int64_t>(H2O_INT16_RM, last - i), next - j, (n_k + 1)/2, { x + i*ld, ld, 2 }, strip, H2O_STRIP,
                        [&](int64_t di, int64_t dj, V::floats sums) {
                    float * to = at + di*ldc + dj;

                    const V::floats scale = V::mul(V::set1f(unit[i + di]), V::loadf(work.unit_w + j + dj));
                    V::store(to, V::fma(sums, scale, k > 0 ? V::loadf(to) : V::zeros()));
                });
            }
        }
    }
}

static void h2o_int16_panel(const h2o_int16_linear & op, const h2o_int16_linear_work & work, const h2o_linear_panel & panel) {
    const int64_t n_cols  = panel.end - panel.begin;
    const int64_t n_whole = op.ids ? 0 : n_cols/V::N*V::N;

    for (int64_t k = 0; k < op.n_in; k += op.n_slab) {
        const int64_t n_k = std::min(op.n_slab, op.n_in - k);

        h2o_fill_panel(op, work, panel, GGML_PAD(n_cols, V::N), k, n_k);
        if (n_whole > 0) {
            h2o_multiply_panel(op, work, panel, k, n_k, 0, n_whole, op.out_row(panel.rows.first) + panel.begin, op.n_out);
        }
        if (n_whole < n_cols) {
            h2o_multiply_panel(op, work, panel, k, n_k, n_whole, GGML_PAD(n_cols, V::N), work.tail, op.ld_tail);
        }
    }
    for (int64_t i = 0; n_whole < n_cols && i < panel.rows.n; ++i) {
        std::copy_n(work.tail + i*op.ld_tail, n_cols - n_whole, op.out_row(panel.rows.first + i) + panel.begin + n_whole);
    }
}

static void h2o_int16_prepare(const h2o_int16_linear & op, const h2o_int16_linear_work & work, h2o_linear_rows slice, int ith, int nth) {
    for (int64_t i = ith; i < slice.n; i += nth) {
        for (int64_t k = 0; k < op.n_in; k += op.n_slab) {
            const int64_t n_k = std::min(op.n_slab, op.n_in - k);
            const int64_t ld  = op.ld_x(k);

            const float * row = op.row(slice.first + i) + k;
            float padded[H2O_SLAB];
            if (n_k < ld) {
                std::fill_n(std::copy_n(row, n_k, padded), ld - n_k, 0.0f);
                row = padded;
            }
            work.unit_x[k/op.n_slab*slice.n + i] = h2o_int16_round_by_norm(row, ld, work.x + k*slice.n + i*ld);
        }
    }
}

// From so many rows on it is the fastest (docs/cpu-kernel.md); 0: never.
static int64_t h2o_int16_min_rows(const ggml_tensor * dst) {
    const int64_t n_half = dst->op == GGML_OP_MUL_MAT_ID ? 64 : 128;

    switch (dst->src[0]->type) {
        case GGML_TYPE_F16:    return n_half;
#if !defined(__AVX512BF16__)
        case GGML_TYPE_BF16:   return n_half;
#endif
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_IQ4_NL:
        case GGML_TYPE_IQ4_XS: return H2O_INT8_WIDENS ? 256 : 0;
        default:               return 0;
    }
}

bool h2o_linear_int16_supported(const ggml_tensor * dst) {
    const ggml_tensor * w = dst->src[0];

    const int64_t n_min = h2o_int16_min_rows(dst);
    if (n_min == 0 || h2o_linear_rows_each(dst) < n_min) {
        return false;
    }
    // halves that are packed are in buffers which are not the host's
    return h2o_is_half(w->type) ? w->buffer && ggml_backend_buffer_is_host(w->buffer) : w->ne[1] % V::N == 0 && h2o_int8_can_unpack(w);
}

void h2o_linear_int16_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_int16_linear      op(dst, params->wdata);
    const h2o_int16_linear_work work(op, params);

    // a few panels for each thread
    const int64_t n_panel = std::min(H2O_PANEL_OUT, GGML_PAD((op.n_out + 4*params->nth - 1)/(4*params->nth), H2O_STRIP));

    h2o_linear_run(params, op, n_panel,
        [&](h2o_linear_rows slice) { h2o_int16_prepare(op, work, slice, params->ith, params->nth); },
        [&](const h2o_linear_panel & panel) { h2o_int16_panel(op, work, panel); });
}

size_t h2o_linear_int16_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_int16_linear op(dst);

    return op.size_order() + op.size_x() + op.size_unit_x() + n_tasks*op.size_thread() + H2O_ALIGN;
}

#endif
