// Keys and values of a KV head as rows of F32, whatever the cache's type and layout: neighbours, or members of a set.

#pragma once

#include "h2o-attn-inputs.h"
#include "h2o-rows.h"

#include <algorithm>

// values of a channel that are converted at once
static constexpr int64_t H2O_CELL_RUN = 64;

// where some rows' keys are
struct h2o_attn_cells {
    int64_t         ic;
    int64_t         ih;
    const int32_t * set; // null: neighbours

    static h2o_attn_cells of_set(const h2o_attn_inputs & op, int64_t ih, int64_t is) {
        return { 0, ih, op.set_at(ih, is) };
    }

    int64_t at(int64_t key) const { return set ? set[key] : key; }

    // cells of a head of K, or of V that is not transposed
    h2o_cells of(const h2o_attn_inputs & op, const ggml_tensor * t) const {
        h2o_cells res(t, op.kv_head(ih));
        res.data += ic*t->nb[3];
        return res;
    }

    // n cells from key0 on, in rows of ld; what comes next is fetched meanwhile
    void read(const h2o_attn_inputs & op, const h2o_cells & cells, int64_t key0, int64_t n, float * out, int64_t ld) const {
        const int64_t last = (set ? op.n_keys : op.k->ne[1]) - 1;

        for (int64_t i = key0; i < key0 + n; ++i) {
            cells.prefetch(at(std::min(i + H2O_AHEAD, last)));
            cells.read(at(i), out + (i - key0)*ld);
        }
    }

    void read_k(const h2o_attn_inputs & op, int64_t key0, int64_t n, float * out, int64_t ld) const {
        read(op, of(op, op.k), key0, n, out, ld);
    }

    void read_v(const h2o_attn_inputs & op, int64_t key0, int64_t n, float * out, int64_t ld) const {
        if (!op.p.v_trans) {
            read(op, of(op, op.v), key0, n, out, ld);
            return;
        }
        const char * src = (const char *) op.v->data + op.kv_head(ih)*op.v->nb[2] + ic*op.v->nb[3];

        for (int64_t j = 0; j < op.d_v; ++j) {
            const char * channel = src + j*op.v->nb[1];

            // neighbours lie side by side
            const int64_t n_run = set ? 1 : std::min<int64_t>(n, H2O_CELL_RUN);
            float run[H2O_CELL_RUN];

            for (int64_t i = 0; i < n; i += n_run) {
                const int64_t n_here = std::min(n_run, n - i);

                h2o_row_to_float(op.v->type, channel + at(key0 + i)*op.v->nb[0], run, n_here);
                for (int64_t k = 0; k < n_here; ++k) {
                    out[(i + k)*ld + j] = run[k];
                }
            }
        }
    }
};
