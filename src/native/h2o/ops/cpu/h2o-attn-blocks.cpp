#include "h2o-attn-blocks.h"

#include "h2o-attn-cells.h"
#include "h2o-panel.h"
#include "h2o-share.h"

#include <algorithm>
#include <cmath>

// A thread takes a block and a head, and of the members so many at a time as its cache holds. It gathers their keys and
// values as F32 rows: logits, online softmax and output, with the queries side by side (h2o-columns.h).

static constexpr int64_t H2O_KEYS  = 256;

namespace {

struct h2o_blocks_op : h2o_attn_inputs {
    explicit h2o_blocks_op(const ggml_tensor * dst) : h2o_attn_inputs(dst), n_blocks(set->ne[2]), ld_v(h2o_col_pad(d_v)) {}

    const int64_t n_blocks;
    const int64_t ld_v;

    // floats per thread
    int64_t size_k()      const { return H2O_KEYS*d_k; }
    int64_t size_v()      const { return H2O_KEYS*ld_v; }
    int64_t size_q()      const { return d_k*H2O_PANEL; }
    int64_t size_logits() const { return H2O_KEYS*H2O_PANEL; }
    int64_t size_o()      const { return H2O_PANEL*ld_v; }
    int64_t size_thread() const {
        return GGML_PAD(size_k() + size_v() + size_q() + size_logits() + size_o(), H2O_PANEL);
    }
};

// what a thread works with: [H2O_KEYS][d_k], [H2O_KEYS][ld_v], [d_k][H2O_PANEL], [H2O_KEYS][H2O_PANEL], [H2O_PANEL][ld_v]
struct h2o_blocks_work {
    h2o_blocks_work(const h2o_blocks_op & op, float * base) :
        k(base), v(k + op.size_k()), q(v + op.size_v()), logits(q + op.size_q()), o(logits + op.size_logits()) {}

    float * k;
    float * v;
    float * q;
    float * logits;
    float * o;
};

}

// n members more from key0 on, for the n_rows rows of the panel
static void h2o_attn_to_keys(
        const h2o_blocks_op & op, const h2o_blocks_work & w, const h2o_attn_cells & cells, int64_t key0, int64_t n, int64_t n_rows,
        h2o_panel_state & state) {
    cells.read_k(op, key0, n, w.k, op.d_k);
    cells.read_v(op, key0, n, w.v, op.ld_v);

    h2o_gemm(n, H2O_PANEL, op.d_k, { w.k, op.d_k, 1 }, w.q, H2O_PANEL, w.logits, H2O_PANEL);

    h2o_panel_take(state, w.logits, w.v, op.ld_v, n, key0 == 0, n_rows, w.o);
}

static void h2o_attn_of_block(const h2o_blocks_op & op, const h2o_blocks_work & w, ggml_tensor * dst, int64_t ih, int64_t ib) {
    const h2o_attn_cells cells = h2o_attn_cells::of_set(op, ih, ib);

    const int64_t n_keys  = op.n_members(ih, ib);
    const int64_t row_end = std::min((ib + 1)*GGML_H2O_BLOCK, op.n_queries)*op.n_group;

    for (int64_t row0 = ib*GGML_H2O_BLOCK*op.n_group; row0 < row_end; row0 += H2O_PANEL) {
        const int64_t n = std::min<int64_t>(H2O_PANEL, row_end - row0);

        h2o_pack_queries(w.q, H2O_PANEL, op.d_k, n, op.p.scale, [&](int64_t i) {
            return (const float *) op.q->data + op.index(0, ih, row0 + i)*op.d_k;
        });

        h2o_panel_state state;
        for (int64_t key = 0; key < n_keys; key += H2O_KEYS) {
            h2o_attn_to_keys(op, w, cells, key, std::min(H2O_KEYS, n_keys - key), n, state);
        }
        for (int64_t i = 0; i < n; ++i) {
            h2o_write_row(op, dst, op.index(0, ih, row0 + i), w.o + i*op.ld_v, 1.0f/state.sum[i],
                    state.max[i] + logf(state.sum[i]));
        }
    }
}

void h2o_forward_attn_blocks(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_blocks_op op(dst);

    const h2o_blocks_work work(op, (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN) + params->ith*op.size_thread());

    // padding channels are read, and must be numbers
    std::fill(work.v, work.v + op.size_v(), 0.0f);

    h2o_share_out(params, op.n_head*op.n_blocks, [&](int64_t i) {
        h2o_attn_of_block(op, work, dst, i/op.n_blocks, i%op.n_blocks);
    });
}

size_t h2o_attn_blocks_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_blocks_op(dst).size_thread()*sizeof(float) + H2O_ALIGN;
}
