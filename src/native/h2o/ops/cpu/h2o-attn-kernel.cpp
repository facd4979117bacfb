#include "h2o-attn-kernel.h"

#include "h2o-attn-inputs.h"
#include "h2o-gemm.h"
#include "h2o-rows.h"
#include "h2o-share.h"
#include "h2o-softmax.h"

#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "vec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// Chunk by chunk, three steps, each shared by all threads:
//
//   pack    keys and values of every KV head become F32 panels, once, whatever the cache's type and layout
//   tiles   a tile of rows of one head at a time: logits, softmax, votes and output while the logits are in the cache
//   votes   if asked for: the column sums of the tiles are added up in their order, so that threads change no bit

static constexpr int H2O_TILE = 48; // rows; their logits over a chunk of 1024 keys are 192 KiB

static_assert(H2O_TILE % H2O_GEMM_RM == 0, "a tile holds whole micro-tiles");

static int64_t h2o_pad(int64_t n) {
    return GGML_PAD(n, H2O_PANEL);
}

namespace {

struct h2o_attn_op : h2o_attn_inputs {
    explicit h2o_attn_op(const ggml_tensor * dst) : h2o_attn_inputs(dst), n_tiles((n_rows + H2O_TILE - 1)/H2O_TILE) {}

    const int64_t n_tiles;

    // sizes of the parts of the work buffer, in floats
    int64_t size_k()      const { return h2o_pad(n_keys)*d_k; }                 // per head: [panel of keys][d_k][H2O_PANEL]
    int64_t size_v()      const { return h2o_pad(d_v)*n_keys; }                 // per head: [panel of d_v][n_keys][H2O_PANEL]
    int64_t size_votes()  const { return p.votes ? n_tiles*h2o_pad(n_keys) : 0; } // per head
    int64_t ld_logits()   const { return h2o_pad(n_keys) + H2O_ROW_STEP; }      // not a power of two: rows must not share a cache set
    int64_t size_logits() const { return H2O_TILE*ld_logits(); }                // per thread
    int64_t size_tile()   const { return H2O_TILE*(d_k + h2o_pad(d_v)); }       // per thread: scaled q, and the output
    int64_t size_row()    const { return h2o_pad(std::max({ d_k, d_v, n_keys })); } // per thread: one row as F32

    int64_t size_shared() const { return n_head*(size_k() + size_v() + size_votes()); }
    int64_t size_thread() const { return size_logits() + size_tile() + size_row(); }
};

struct h2o_attn_work {
    h2o_attn_work(const h2o_attn_op & op, const ggml_compute_params * params) {
        float * base = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN);

        k     = base;
        v     = k + op.n_head*op.size_k();
        votes = v + op.n_head*op.size_v();

        logits = base   + op.size_shared() + params->ith*op.size_thread();
        q      = logits + op.size_logits();
        o      = q      + H2O_TILE*op.d_k;
        row    = logits + op.size_logits() + op.size_tile();
    }

    // shared
    float * k;
    float * v;
    float * votes;

    // of this thread
    float * logits;
    float * q;
    float * o;
    float * row;
};

}

// n values as F32: src itself if they are, else converted into buf
static const float * h2o_to_float(ggml_type type, const void * src, float * buf, int64_t n) {
    if (type == GGML_TYPE_F32) {
        return (const float *) src;
    }
    h2o_row_to_float(type, src, buf, n);
    return buf;
}

// a panel of keys of one head: [d_k][H2O_PANEL], zeros past the last key
static void h2o_pack_k(const h2o_attn_op & op, const h2o_attn_work & w, int64_t ic, int64_t ih, int64_t key0) {
    const char    * src = (const char *) op.k->data + op.kv_head(ih)*op.k->nb[2] + ic*op.k->nb[3];
    const int32_t * set = op.set ? op.set_at(ih, 0) : nullptr;

    float * dst = w.k + ih*op.size_k() + key0*op.d_k;

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        const int64_t key = key0 + i;

        if (key >= op.n_keys) {
            for (int64_t j = 0; j < op.d_k; ++j) {
                dst[j*H2O_PANEL + i] = 0.0f;
            }
            continue;
        }

        const float * row = h2o_to_float(op.k->type, src + (set ? set[key] : key)*op.k->nb[1], w.row, op.d_k);
        for (int64_t j = 0; j < op.d_k; ++j) {
            dst[j*H2O_PANEL + i] = row[j];
        }
    }
}

// the same keys' values: rows key0.. of each panel of d_v, zeros past d_v
static void h2o_pack_v(const h2o_attn_op & op, const h2o_attn_work & w, int64_t ic, int64_t ih, int64_t key0) {
    const char    * src = (const char *) op.v->data + op.kv_head(ih)*op.v->nb[2] + ic*op.v->nb[3];
    const int32_t * set = op.set ? op.set_at(ih, 0) : nullptr;

    const int64_t n = std::min<int64_t>(H2O_PANEL, op.n_keys - key0);

    const auto at = [&](int64_t key, int64_t j) -> float & {
        return w.v[ih*op.size_v() + (j/H2O_PANEL*op.n_keys + key)*H2O_PANEL + j%H2O_PANEL];
    };

    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = op.d_v; j < h2o_pad(op.d_v); ++j) {
            at(key0 + i, j) = 0.0f;
        }
    }

    if (!op.p.v_trans) {
        for (int64_t i = 0; i < n; ++i) {
            const int64_t cell = set ? set[key0 + i] : key0 + i;
            const float * row  = h2o_to_float(op.v->type, src + cell*op.v->nb[1], w.row, op.d_v);

            for (int64_t j = 0; j < op.d_v; j += H2O_PANEL) {
                memcpy(&at(key0 + i, j), row + j, std::min<int64_t>(H2O_PANEL, op.d_v - j)*sizeof(float));
            }
        }
        return;
    }

    // the cells of one channel are neighbours; gathered ones are read one by one
    for (int64_t j = 0; j < op.d_v; ++j) {
        const char * channel = src + j*op.v->nb[1];

        if (set) {
            for (int64_t i = 0; i < n; ++i) {
                at(key0 + i, j) = *h2o_to_float(op.v->type, channel + set[key0 + i]*op.v->nb[0], w.row, 1);
            }
        } else {
            const float * cells = h2o_to_float(op.v->type, channel + key0*op.v->nb[0], w.row, n);
            for (int64_t i = 0; i < n; ++i) {
                at(key0 + i, j) = cells[i];
            }
        }
    }
}

// rows [tile*H2O_TILE, ...) of one head of one chunk
static void h2o_attn_tile(const h2o_attn_op & op, const h2o_attn_work & w, ggml_tensor * dst, int64_t ic, int64_t ih, int64_t tile) {
    const int64_t row0 = tile*H2O_TILE;
    const int64_t n    = std::min<int64_t>(H2O_TILE, op.n_rows - row0);
    const int64_t ld   = op.ld_logits();

    // whole micro-tiles of rows: the rest is zeros and is not looked at
    const int n_gemm = (n + H2O_GEMM_RM - 1)/H2O_GEMM_RM*H2O_GEMM_RM;

    for (int64_t i = 0; i < n; ++i) {
        const float * q = (const float *) op.q->data + op.index(ic, ih, row0 + i)*op.d_k;

        for (int64_t j = 0; j < op.d_k; ++j) {
            w.q[i*op.d_k + j] = q[j]*op.p.scale;
        }
    }
    std::fill(w.q + n*op.d_k, w.q + n_gemm*op.d_k, 0.0f);

    // logits, only up to the last key that a row of the tile sees
    const int64_t n_vis = op.n_visible(row0 + n);

    for (int64_t key = 0; key < n_vis; key += H2O_PANEL) {
        h2o_gemm_panel(n_gemm, op.d_k, w.q, op.d_k, w.k + ih*op.size_k() + key*op.d_k, w.logits + key, ld);
    }

    float * votes   = w.votes + ih*op.size_votes() + tile*op.n_keys;

    if (op.p.votes) {
        std::fill(votes, votes + n_vis, 0.0f);
    }

    // the weights stay without their 1/l: votes and output get it
    float scale[H2O_TILE];
    float lse  [H2O_TILE];

    for (int64_t i = 0; i < n; ++i) {
        float * x = w.logits + i*ld;

        const int64_t n_row = op.n_visible(row0 + i + 1);
        const int64_t n_pad = h2o_row_pad(n_row);

        std::fill(x + n_row, x + n_pad, -INFINITY);

        const float max = h2o_row_max(x, n_pad);
        const float sum = h2o_row_exp(x, n_pad, max);

        std::fill(x + n_pad, x + std::max(n_pad, n_vis), 0.0f);

        lse[i]   = max + logf(sum);
        scale[i] = 1.0f/sum;

        if (op.p.votes) {
            ggml_vec_mad_f32(n_row, votes, x, scale[i]);
        }
    }
    for (int64_t i = n; i < n_gemm; ++i) {
        std::fill(w.logits + i*ld, w.logits + i*ld + n_vis, 0.0f);
    }

    const int64_t ld_o = h2o_pad(op.d_v);
    for (int64_t j = 0; j < op.d_v; j += H2O_PANEL) {
        h2o_gemm_panel(n_gemm, n_vis, w.logits, ld, w.v + ih*op.size_v() + j*op.n_keys, w.o + j, ld_o);
    }

    for (int64_t i = 0; i < n; ++i) {
        h2o_write_row(op, dst, op.index(ic, ih, row0 + i), w.o + i*ld_o, scale[i], lse[i]);
    }
}

// a panel of keys of one head: the votes of all tiles, in their order
static void h2o_attn_votes(const h2o_attn_op & op, const h2o_attn_work & w, ggml_tensor * dst, int64_t ic, int64_t ih, int64_t key0) {
    const int64_t n = std::min<int64_t>(H2O_PANEL, op.n_keys - key0);

    float * votes = (float *) dst->data + (op.d_v + 1)*op.n_rows*op.n_head*op.n_chunks + (ic*op.n_head + ih)*op.n_keys + key0;

    std::fill(votes, votes + n, 0.0f);

    for (int64_t tile = 0; tile < op.n_tiles; ++tile) {
        const int64_t n_vis = op.n_visible(std::min(op.n_rows, (tile + 1)*H2O_TILE));

        if (n_vis > key0) {
            ggml_vec_acc_f32(std::min(n, n_vis - key0), votes, w.votes + ih*op.size_votes() + tile*op.n_keys + key0);
        }
    }
}

void h2o_forward_attn(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_attn_op   op(dst);
    const h2o_attn_work w(op, params);

    const int64_t n_panels = h2o_pad(op.n_keys)/H2O_PANEL;

    for (int64_t ic = 0; ic < op.n_chunks; ++ic) {
        for (int64_t i = params->ith; i < op.n_head*n_panels; i += params->nth) {
            h2o_pack_k(op, w, ic, i/n_panels, i%n_panels*H2O_PANEL);
            h2o_pack_v(op, w, ic, i/n_panels, i%n_panels*H2O_PANEL);
        }

        h2o_share_out(params, op.n_head*op.n_tiles, [&](int64_t i) {
            h2o_attn_tile(op, w, dst, ic, i/op.n_tiles, i%op.n_tiles);
        });
        ggml_barrier(params->threadpool);

        for (int64_t i = params->ith; op.p.votes && i < op.n_head*n_panels; i += params->nth) {
            h2o_attn_votes(op, w, dst, ic, i/n_panels, i%n_panels*H2O_PANEL);
        }
    }
}

size_t h2o_attn_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_attn_op op(dst);

    return (op.size_shared() + n_tasks*op.size_thread())*sizeof(float) + H2O_ALIGN;
}
