// What every kernel of a linear layer reads from the product: dst [n_out, rows] = weights [n_in, n_out] x activations
// [n_in, rows].

#pragma once

#include "ggml-impl.h"

#include <cstdint>

struct h2o_linear_op {
    explicit h2o_linear_op(const ggml_tensor * dst) :
        w(dst->src[0]), x(dst->src[1]), n_in(w->ne[0]), n_out(w->ne[1]), n_rows(ggml_nrows(x)), out((float *) dst->data) {}

    const ggml_tensor * w;
    const ggml_tensor * x;

    const int64_t n_in;
    const int64_t n_out;
    const int64_t n_rows;

    float * out; // [n_rows][n_out]

    const float * row(int64_t i) const { return (const float *) x->data + i*n_in; }

    // values of a row of weights, from value i of it on; i is a multiple of the block size
    const void * weights(int64_t row, int64_t i) const {
        return (const char *) w->data + row*w->nb[1] + ggml_row_size(w->type, i);
    }
};
