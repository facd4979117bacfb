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

    // f(block) of n cells of a list, as they lie or, of the types that no kernel reads, as F32 in buf [n][d]. With each
    // of them ahead() is fetched.
    template <typename A, typename F>
    void read(const int32_t * list, int64_t n, int64_t ih, float * buf, A ahead, F f) const {
        switch (type) {
            case GGML_TYPE_F32:  f(block<float>      (list, n, ih, ahead)); break;
            case GGML_TYPE_F16:  f(block<ggml_fp16_t>(list, n, ih, ahead)); break;
            case GGML_TYPE_BF16: f(block<ggml_bf16_t>(list, n, ih, ahead)); break;
            case GGML_TYPE_Q8_0: f(block<block_q8_0> (list, n, ih, ahead)); break;
            case GGML_TYPE_Q4_0: f(block<block_q4_0> (list, n, ih, ahead)); break;
            default: {
                h2o_block<float> res = block<float>(list, n, ih, ahead);
                for (int64_t i = 0; i < n; ++i) {
                    read(list[i], ih, buf + i*d);
                    res.row[i] = buf + i*d;
                }
                f(res);
            }
        }
    }

private:
    template <typename T, typename A>
    h2o_block<T> block(const int32_t * list, int64_t n, int64_t ih, A ahead) const {
        h2o_block<T> res;
        for (int64_t i = 0; i < n; ++i) {
            res.row  [i] = (const T *) at(list[i], ih);
            res.ahead[i] = ahead();
        }
        res.n    = n;
        res.size = size;
        return res;
    }
};
