// Cells of a KV cache, head by head, as F32.

#pragma once

#include "h2o-decode-op.h"

#include "h2o-rows.h"

// n values as F32: src itself if they are, else in buf
static inline const float * h2o_decode_floats(ggml_type type, const void * src, float * buf, int64_t n) {
    if (type == GGML_TYPE_F32) {
        return (const float *) src;
    }
    h2o_row_to_float(type, src, buf, n);
    return buf;
}

struct h2o_decode_cells {
    // t: the op's k, or its v where that is not transposed
    h2o_decode_cells(const h2o_decode_op & op, const ggml_tensor * t) :
        data(op.data(t)), nb(t->nb[1]), nb_head(t->nb[2]), size(ggml_row_size(t->type, t->ne[0])), type(t->type),
        d(t->ne[0]), n_head_kv(t->ne[2]) {}

    const char * const data;
    const size_t       nb;      // from cell to cell
    const size_t       nb_head; // from head to head
    const size_t       size;    // of one head
    const ggml_type    type;
    const int64_t      d;
    const int64_t      n_head_kv;

    // into buf [d]
    void read(int64_t cell, int64_t ih, float * buf) const {
        h2o_row_to_float(type, data + cell*nb + ih*nb_head, buf, d);
    }

    // where they are F32 already: themselves
    const float * get(int64_t cell, int64_t ih, float * buf) const {
        return h2o_decode_floats(type, data + cell*nb + ih*nb_head, buf, d);
    }

    // into the processor's cache, for later
    void fetch(int64_t cell, int64_t ih) const {
        h2o_prefetch(data + cell*nb + ih*nb_head, size);
    }
};
