// What every kernel of a linear layer reads from the product: dst [n_out, rows] = weights [n_in, n_out] x activations
// [n_in, rows]. With experts there is a matrix of weights for each, and every row names the one it wants.

#pragma once

#include "../h2o-vec.h"

#include "ggml-impl.h"

#include <cstdint>

static inline char * h2o_align(void * p) {
    return (char *) GGML_PAD((uintptr_t) p, H2O_ALIGN);
}

// The driver takes rows in an order of its own: by expert. Numbers of rows are places in that order.
struct h2o_linear_op {
    // work: of the node, null where only sizes are asked for
    explicit h2o_linear_op(const ggml_tensor * dst, void * work = nullptr) :
        w(dst->src[0]), x(dst->src[1]), ids(dst->op == GGML_OP_MUL_MAT_ID ? dst->src[2] : nullptr),
        n_in(w->ne[0]), n_out(w->ne[1]), n_rows(ggml_nrows(dst)), n_experts(ids ? w->ne[2] : 1), out((float *) dst->data),
        order((int32_t *) h2o_align(work)) {}

    const ggml_tensor * w;
    const ggml_tensor * x;
    const ggml_tensor * ids; // [experts of a token, tokens], or null: all rows want the same weights

    const int64_t n_in;
    const int64_t n_out;
    const int64_t n_rows;
    const int64_t n_experts;

    float   * const out;   // [n_rows][n_out]
    int32_t * const order; // [n_rows] rows of out, those of an expert together; behind it [n_experts + 1] where they begin

    // bytes of the order, at the beginning of the work buffer
    int64_t size_order() const { return ids ? GGML_PAD((n_rows + n_experts + 1)*sizeof(int32_t), H2O_ALIGN) : 0; }

    int64_t first_row(int64_t expert) const { return ids ? order[n_rows + expert] : expert*n_rows; }

    int64_t at(int64_t i) const { return ids ? order[i] : i; }

    float * out_row(int64_t i) const { return out + at(i)*n_out; }

    // the experts of a token may share its activations
    const float * row(int64_t i) const {
        const int64_t r     = at(i);
        const int64_t n_use = ids ? ids->ne[0] : 1;
        return (const float *) x->data + (ids ? r/n_use*x->ne[1] + r%n_use%x->ne[1] : r)*n_in;
    }

    // values of a row of weights, from value i of it on; i is a multiple of the block size
    const void * weights(int64_t expert, int64_t row, int64_t i) const {
        return (const char *) w->data + expert*w->nb[2] + row*w->nb[1] + ggml_row_size(w->type, i);
    }
};

// rows that want the same weights; with experts, on average
static inline int64_t h2o_linear_rows_each(const ggml_tensor * dst) {
    return ggml_nrows(dst)/(dst->op == GGML_OP_MUL_MAT_ID ? dst->src[0]->ne[2] : 1);
}
