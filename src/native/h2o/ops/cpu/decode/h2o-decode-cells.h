// Cells of a KV cache, head by head.

#pragma once

#include "h2o-decode-op.h"
#include "h2o-decode-vec.h"

#include "h2o-rows.h"

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

    const char * at(int64_t cell, int64_t ih) const { return data + cell*nb + ih*nb_head; }

    // into buf [d]
    void read(int64_t cell, int64_t ih, float * buf) const {
        h2o_row_to_float(type, at(cell, ih), buf, d);
    }

    // of one head
    h2o_places places(const int32_t * list, int64_t ih) const { return { at(0, ih), list, nb }; }

    // f(block) of n cells of a list, as they lie or, of the types that no kernel reads, as F32 in buf [n][d]. With each
    // of them its place in `ahead` is fetched.
    template <typename F>
    void read(const int32_t * list, int64_t n, int64_t ih, float * buf, const h2o_places & ahead, F f) const {
        const h2o_places rows = places(list, ih);

        switch (type) {
            case GGML_TYPE_F32:  f(h2o_block<float>      (rows, ahead, n, size)); break;
            case GGML_TYPE_F16:  f(h2o_block<ggml_fp16_t>(rows, ahead, n, size)); break;
            case GGML_TYPE_BF16: f(h2o_block<ggml_bf16_t>(rows, ahead, n, size)); break;
            case GGML_TYPE_Q8_0: f(h2o_block<block_q8_0> (rows, ahead, n, size)); break;
            case GGML_TYPE_Q4_0: f(h2o_block<block_q4_0> (rows, ahead, n, size)); break;
            default: {
                for (int64_t i = 0; i < n; ++i) {
                    read(list[i], ih, buf + i*d);
                }
                f(h2o_block<float>({ (const char *) buf, nullptr, d*sizeof(float) }, ahead, n, size));
            }
        }
    }
};
