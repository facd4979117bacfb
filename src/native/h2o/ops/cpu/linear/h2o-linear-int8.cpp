#include "h2o-linear-int8.h"

#include "h2o-int8-lanes.h"

#ifndef H2O_HAS_INT8

bool h2o_linear_int8_supported(const ggml_tensor *) {
    return false;
}

void h2o_linear_int8_forward(const ggml_compute_params *, ggml_tensor *) {
}

size_t h2o_linear_int8_work_size(const ggml_tensor *, int) {
    return 0;
}

#else

#include "h2o-int8-kernel.h"
#include "h2o-int8-rows.h"
#include "h2o-linear-run.h"

// From so many rows on these products take less time than llama.cpp's, where weights come from memory (docs/cpu-kernel.md).
// One row is a token that is decoded.
static int64_t h2o_int8_min_rows(ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q4_0:
        case GGML_TYPE_Q4_1:   return 1;
        case GGML_TYPE_Q3_K:
        case GGML_TYPE_IQ4_NL:
        case GGML_TYPE_IQ4_XS: return H2O_INT8_WIDENS ? 2 : 1;
        default:               return 2;
    }
}

// A tile of weights stays in the L1 cache while the rows pass over it.
static constexpr int64_t H2O_TILE_BYTES = 16384;

// values of the inner dimension that it has; a multiple of every block size
static constexpr int64_t H2O_SLAB = H2O_TILE_BYTES/H2O_INT8_COLS;

namespace {

struct h2o_int8_linear : h2o_linear_op {
    explicit h2o_int8_linear(const ggml_tensor * dst, void * work = nullptr) :
        h2o_linear_op(dst, work), format(h2o_int8_format_of(w->type)), n_slice(h2o_linear_slice(*this)) {}

    const h2o_int8_format format;
    const int64_t n_slice;

    int64_t n_blocks() const { return n_in/H2O_INT8_BLOCK; }

    // of the activations of a slice
    int64_t size_q()     const { return GGML_PAD(n_slice*n_in, H2O_ALIGN); }
    int64_t size_scale() const { return GGML_PAD(n_slice*n_blocks()*sizeof(float), H2O_ALIGN); }
    int64_t size_sum()   const { return size_scale()*format.n_parts; }
    int64_t size_x()     const { return size_q() + size_scale() + size_sum(); }

    // of a tile
    int64_t n_scales()    const { return H2O_SLAB/H2O_INT8_BLOCK*H2O_INT8_COLS; }
    int64_t size_tile()   const { return H2O_TILE_BYTES + n_scales()*(format.n_parts + 1)*sizeof(float); }
    int64_t size_tail()   const { return n_slice*H2O_INT8_COLS*sizeof(float); }
    int64_t size_thread() const { return size_tile() + size_tail(); }
};

struct h2o_int8_linear_work {
    h2o_int8_linear_work(const h2o_int8_linear & op, const ggml_compute_params * params) {
        char * base = (char *) op.order + op.size_order();
        char * own  = base + op.size_x() + params->ith*op.size_thread();

        q     = (int8_t *) base;
        scale = (float *) (base + op.size_q());
        sum   = (int32_t *) (base + op.size_q() + op.size_scale());

        tile.q     = (uint8_t *) own;
        tile.scale = (float *) (own + H2O_TILE_BYTES);
        tile.min   = tile.scale + op.n_scales()*op.format.n_parts;
        tail       = (float *) (own + op.size_tile());
    }

    // activations of the slice by slabs: [slabs][rows][values of the slab]
    int8_t  * q;
    float   * scale;
    int32_t * sum;

    h2o_int8_tile tile;
    float       * tail; // [rows][H2O_INT8_COLS]: outputs of a panel that is not whole, or of experts' rows
};

}

static void h2o_int8_prepare(const h2o_int8_linear & op, const h2o_int8_linear_work & work, h2o_linear_rows slice, int ith, int nth) {
    for (int64_t i = ith; i < slice.n; i += nth) {
        for (int64_t k = 0; k < op.n_in; k += H2O_SLAB) {
            const int64_t n_k = std::min(H2O_SLAB, op.n_in - k);
            const int64_t at  = k*slice.n + i*n_k;

            h2o_int8_round(op.row(slice.first + i) + k, n_k, op.format, work.q + at, work.scale + at/H2O_INT8_BLOCK,
                    work.sum + at/H2O_INT8_BLOCK*op.format.n_parts);
        }
    }
}

// as many rows at once as the registers hold, then those that are left
template <ggml_type TYPE, int RM = h2o_int8_rows_at_once(h2o_int8_format_of(TYPE))>
static void h2o_int8_multiply(
        int64_t n_rows, int64_t n_blocks, const h2o_int8_rows & x, const h2o_int8_tile & tile, float * c, int64_t ldc, bool add) {
    int64_t i = 0;
    for (; i + RM <= n_rows; i += RM) {
        h2o_int8_kernel<TYPE, RM>(n_blocks, x.from(i, h2o_int8_format_of(TYPE).n_parts), tile, c + i*ldc, ldc, add);
    }
    if constexpr (RM > 1) {
        h2o_int8_multiply<TYPE, RM - 1>(n_rows - i, n_blocks, x.from(i, h2o_int8_format_of(TYPE).n_parts), tile, c + i*ldc, ldc, add);
    }
}

using h2o_int8_multiply_t = decltype(&h2o_int8_multiply<GGML_TYPE_Q8_0>);

static h2o_int8_multiply_t h2o_int8_multiply_of(ggml_type type) {
    switch (type) {
        case GGML_TYPE_IQ4_NL:
        case GGML_TYPE_IQ4_XS:
        case GGML_TYPE_Q8_0: return h2o_int8_multiply<GGML_TYPE_Q8_0>;
        case GGML_TYPE_Q4_0: return h2o_int8_multiply<GGML_TYPE_Q4_0>;
        case GGML_TYPE_MXFP4:
        case GGML_TYPE_Q5_0: return h2o_int8_multiply<GGML_TYPE_Q5_0>;
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_Q4_K: return h2o_int8_multiply<GGML_TYPE_Q4_1>;
        case GGML_TYPE_Q5_1:
        case GGML_TYPE_Q5_K: return h2o_int8_multiply<GGML_TYPE_Q5_1>;
        case GGML_TYPE_Q3_K: return h2o_int8_multiply<GGML_TYPE_Q3_K>;
        default:             return h2o_int8_multiply<GGML_TYPE_Q6_K>;
    }
}

// a panel of at most H2O_INT8_COLS outputs
static void h2o_int8_panel(const h2o_int8_linear & op, const h2o_int8_linear_work & work, const h2o_linear_panel & panel) {
    const h2o_int8_multiply_t multiply = h2o_int8_multiply_of(op.w->type);

    const int64_t n_cols   = panel.end - panel.begin;
    const int64_t begin    = std::min(panel.begin, op.n_out - H2O_INT8_COLS); // a tile is whole: outputs before these again
    const bool    in_place = n_cols == H2O_INT8_COLS && !op.ids;              // else rows of the result lie anywhere

    float       * c   = in_place ? op.out_row(panel.rows.first) + begin : work.tail;
    const int64_t ldc = in_place ? op.n_out : H2O_INT8_COLS;

    for (int64_t k = 0; k < op.n_in; k += H2O_SLAB) {
        const int64_t n_k   = std::min(H2O_SLAB, op.n_in - k);
        const int64_t at    = k*panel.slice.n + (panel.rows.first - panel.slice.first)*n_k;
        const int64_t block = at/H2O_INT8_BLOCK;

        h2o_int8_unpack(op, panel.expert, begin, k, n_k, work.tile);

        const h2o_int8_rows x = {
            work.q + at, work.scale + block, work.sum + block*op.format.n_parts, n_k, n_k/H2O_INT8_BLOCK,
        };
        multiply(panel.rows.n, n_k/H2O_INT8_BLOCK, x, work.tile, c, ldc, k > 0);
    }
    for (int64_t i = 0; !in_place && i < panel.rows.n; ++i) {
        std::copy_n(c + i*ldc + panel.begin - begin, n_cols, op.out_row(panel.rows.first + i) + panel.begin);
    }
}

bool h2o_linear_int8_supported(const ggml_tensor * dst) {
    const ggml_tensor * w = dst->src[0];

    return h2o_linear_rows_each(dst) >= h2o_int8_min_rows(w->type) && h2o_int8_format_of(w->type).bits > 0 &&
        w->ne[1] >= H2O_INT8_COLS && h2o_int8_can_unpack(w);
}

void h2o_linear_int8_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_int8_linear      op(dst, params->wdata);
    const h2o_int8_linear_work work(op, params);

    // several together, as the weights of the next are fetched meanwhile
    const int64_t n_panel = H2O_INT8_COLS*std::clamp<int64_t>(op.n_out/H2O_INT8_COLS/(8*params->nth), 1, 8);

    h2o_linear_run(params, op, n_panel,
        [&](h2o_linear_rows slice) { h2o_int8_prepare(op, work, slice, params->ith, params->nth); },
        [&](h2o_linear_panel panel) {
            for (const int64_t end = panel.end; panel.begin < end; panel.begin = panel.end) {
                panel.end = std::min(end, panel.begin + H2O_INT8_COLS);
                h2o_int8_panel(op, work, panel);
            }
        });
}

size_t h2o_linear_int8_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_int8_linear op(dst);

    return op.size_order() + op.size_x() + n_tasks*op.size_thread() + H2O_ALIGN;
}

#endif
