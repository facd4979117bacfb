#include "h2o-attn-blocks.h"

#include "h2o-attn-inputs.h"
#include "h2o-columns.h"
#include "h2o-rows.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cmath>

// A thread takes a block and a head. It gathers the members' keys and values once, as F32 rows, and takes the rows
// of the group's heads in panels: logits, softmax and output, with the queries side by side (h2o-columns.h).

static constexpr size_t H2O_ALIGN = 64;

namespace {

struct h2o_blocks_op : h2o_attn_inputs {
    explicit h2o_blocks_op(const ggml_tensor * dst) : h2o_attn_inputs(dst), n_blocks(set->ne[2]), ld_v(h2o_col_pad(d_v)) {}

    const int64_t n_blocks;
    const int64_t ld_v;

    // floats per thread
    int64_t size_k()      const { return n_keys*d_k; }        // [n_keys][d_k]
    int64_t size_v()      const { return n_keys*ld_v; }       // [n_keys][ld_v]
    int64_t size_q()      const { return d_k*H2O_PANEL; }     // [d_k][H2O_PANEL]
    int64_t size_logits() const { return n_keys*H2O_PANEL; }  // [n_keys][H2O_PANEL]
    int64_t size_o()      const { return H2O_PANEL*ld_v; }    // [H2O_PANEL][ld_v]
    int64_t size_thread() const {
        return (size_k() + size_v() + size_q() + size_logits() + size_o() + H2O_PANEL)/H2O_PANEL*H2O_PANEL;
    }
};

}

// values of the members, whatever the layout
static void h2o_gather_v(const h2o_blocks_op & op, int64_t ih, const int32_t * set, float * out) {
    if (!op.p.v_trans) {
        const h2o_cells cells(op.v, op.kv_head(ih));

        for (int64_t i = 0; i < op.n_keys; ++i) {
            cells.read(set[i], out + i*op.ld_v);
        }
        return;
    }

    const char * src = (const char *) op.v->data + op.kv_head(ih)*op.v->nb[2];

    for (int64_t j = 0; j < op.d_v; ++j) {
        const char * channel = src + j*op.v->nb[1];

        for (int64_t i = 0; i < op.n_keys; ++i) {
            h2o_row_to_float(op.v->type, channel + set[i]*op.v->nb[0], out + i*op.ld_v + j, 1);
        }
    }
}

static void h2o_attn_of_block(const h2o_blocks_op & op, float * work, ggml_tensor * dst, int64_t ih, int64_t ib) {
    float * k      = work;
    float * v      = k      + op.size_k();
    float * q      = v      + op.size_v();
    float * logits = q      + op.size_q();
    float * o      = logits + op.size_logits();

    const int32_t * set = (const int32_t *) ((const char *) op.set->data + ih*op.set->nb[1] + ib*op.set->nb[2]);

    const h2o_cells keys(op.k, op.kv_head(ih));
    for (int64_t i = 0; i < op.n_keys; ++i) {
        keys.read(set[i], k + i*op.d_k);
    }
    h2o_gather_v(op, ih, set, v);

    const int64_t row_end = std::min((ib + 1)*GGML_H2O_BLOCK, op.n_queries)*op.n_group;

    for (int64_t row0 = ib*GGML_H2O_BLOCK*op.n_group; row0 < row_end; row0 += H2O_PANEL) {
        const int64_t n = std::min<int64_t>(H2O_PANEL, row_end - row0);

        h2o_pack_queries(q, H2O_PANEL, op.d_k, n, op.p.scale, [&](int64_t i) {
            return (const float *) op.q->data + op.index(0, ih, row0 + i)*op.d_k;
        });

        h2o_gemm(op.n_keys, H2O_PANEL, op.d_k, { k, op.d_k, 1 }, q, H2O_PANEL, logits, H2O_PANEL);

        float max  [H2O_PANEL];
        float shift[H2O_PANEL];
        float sum  [H2O_PANEL];

        std::fill(max, max + H2O_PANEL, -INFINITY);
        h2o_columns_max(logits, op.n_keys, H2O_PANEL, max);
        for (int64_t i = 0; i < H2O_PANEL; ++i) {
            shift[i] = -max[i];
            sum  [i] = 0.0f;
        }
        h2o_columns_exp(logits, op.n_keys, H2O_PANEL, shift, sum);

        h2o_gemm(n, op.ld_v, op.n_keys, { logits, 1, H2O_PANEL }, v, op.ld_v, o, op.ld_v);

        for (int64_t i = 0; i < n; ++i) {
            h2o_write_row(op, dst, op.index(0, ih, row0 + i), o + i*op.ld_v, 1.0f/sum[i], max[i] + logf(sum[i]));
        }
    }
}

void h2o_forward_attn_blocks(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_blocks_op op(dst);

    float * work = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN) + params->ith*op.size_thread();

    // padding channels are read, and must be numbers
    std::fill(work + op.size_k(), work + op.size_k() + op.size_v(), 0.0f);

    for (int64_t i = params->ith; i < op.n_head*op.n_blocks; i += params->nth) {
        h2o_attn_of_block(op, work, dst, i/op.n_blocks, i%op.n_blocks);
    }
}

size_t h2o_attn_blocks_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_blocks_op(dst).size_thread()*sizeof(float) + H2O_ALIGN;
}
