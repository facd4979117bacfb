// Rows of the KV cache as F32.

#pragma once

#include "ggml-cpu.h"
#include "ggml.h"

#include <cstdint>

// n values of any type into buf
static inline void h2o_row_to_float(ggml_type type, const void * src, float * buf, int64_t n) {
    switch (type) {
        case GGML_TYPE_F16:  ggml_cpu_fp16_to_fp32((const ggml_fp16_t *) src, buf, n); break;
        case GGML_TYPE_BF16: ggml_cpu_bf16_to_fp32((const ggml_bf16_t *) src, buf, n); break;
        case GGML_TYPE_F32:  for (int64_t i = 0; i < n; ++i) { buf[i] = ((const float *) src)[i]; } break;
        default:             ggml_get_type_traits(type)->to_float(src, buf, n);
    }
}

// Cells of one KV head: keys, or values that are not transposed.
struct h2o_cells {
    const char * data;
    size_t       nb; // from cell to cell
    ggml_type    type;
    int64_t      d;

    h2o_cells(const ggml_tensor * t, int64_t ih) :
        data((const char *) t->data + ih*t->nb[2]), nb(t->nb[1]), type(t->type), d(t->ne[0]) {}

    void read(int64_t cell, float * buf) const {
        h2o_row_to_float(type, data + cell*nb, buf, d);
    }
};
