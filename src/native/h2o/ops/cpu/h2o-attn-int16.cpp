#include "h2o-attn-int16.h"

#include "h2o-gemm-int16.h"

#ifndef H2O_HAS_INT16

bool h2o_attn_int16_supported(const ggml_tensor *) {
    return false;
}

void h2o_forward_attn_int16(const ggml_compute_params *, ggml_tensor *) {
}

size_t h2o_attn_int16_work_size(const ggml_tensor *, int) {
    return 0;
}

#else

#include "h2o-attn-cells.h"
#include "h2o-columns.h"

#include "ggml-cpu-impl.h"

#include <cstdlib>

// Keys come in pieces of 64 with online softmax, queries in panels of 64 side by side (h2o-columns.h). Keys and queries
// are rounded row by row. Values are rounded key by key; what a key's unit is goes into its weight, and the weights of a
// query are rounded over a piece.
//
// Over neighbouring keys all threads pack the keys of a chunk, then each takes panels of queries. Over sets a thread takes
// a block of queries as a whole.

static constexpr size_t  H2O_ALIGN = 64;
static constexpr int64_t H2O_PIECE = 64; // keys

// what the sums of a piece can hold: the weights of a query add up to 65000, and 32 more by rounding, and 65032*32767 is less
// than 2^31
static constexpr int H2O_VALUE_TOP  = 32767;
static constexpr int H2O_WEIGHT_TOP = 32767;
static constexpr int H2O_WEIGHT_SUM = 65000;

// weights below are nothing beside the largest of a query
static constexpr float H2O_LEAST_WEIGHT = 1e-30f;

namespace {

struct h2o_int16_op : h2o_attn_inputs {
    explicit h2o_int16_op(const ggml_tensor * dst) :
        h2o_attn_inputs(dst), ld_v(h2o_col_pad(d_v)), n_pieces((n_keys + H2O_PIECE - 1)/H2O_PIECE) {}

    const int64_t ld_v;
    const int64_t n_pieces;

    int64_t n_rows_of_set() const { return GGML_H2O_BLOCK*n_group; }

    // bytes
    int64_t size_k()      const { return H2O_PIECE*d_k*sizeof(int16_t); }
    int64_t size_v()      const { return H2O_PIECE*ld_v*sizeof(int16_t); }
    int64_t size_units()  const { return H2O_PIECE*sizeof(float); }
    int64_t size_piece()  const { return size_k() + size_v() + 2*size_units(); }
    int64_t size_shared() const { return set ? 0 : n_head*n_pieces*size_piece(); }

    int64_t size_q()      const { return H2O_PANEL*d_k*sizeof(int16_t); }
    int64_t size_logits() const { return H2O_PIECE*H2O_PANEL*sizeof(float); }
    int64_t size_o()      const { return H2O_PANEL*ld_v*sizeof(float); }
    int64_t size_weights() const { return std::max<int64_t>(size_logits()/2, d_k*sizeof(int16_t)); }
    int64_t size_key()    const { return d_k*sizeof(float); }
    int64_t size_values() const { return (p.v_trans ? H2O_PIECE : 2)*ld_v*sizeof(float); }
    int64_t size_thread() const {
        return GGML_PAD(
            size_q() + size_logits() + size_weights() + size_o() + size_key() + size_values() + size_piece(), H2O_ALIGN);
    }
};

// keys and values as they are multiplied
struct h2o_int16_piece {
    h2o_int16_piece(const h2o_int16_op & op, char * base) {
        k      = (int16_t *) base;
        v      = (int16_t *) (base + op.size_k());
        unit_k = (float *) (base + op.size_k() + op.size_v());
        unit_v = unit_k + H2O_PIECE;
    }

    int16_t * k;      // [H2O_PIECE][d_k]
    int16_t * v;      // [H2O_PIECE/2][ld_v][2]
    float   * unit_k; // [H2O_PIECE]
    float   * unit_v;
};

struct h2o_int16_work {
    h2o_int16_work(const h2o_int16_op & op, const ggml_compute_params * params) {
        shared  = (char *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN);
        q       = (int16_t *) (shared + op.size_shared() + params->ith*op.size_thread());
        logits  = (float *) ((char *) q + op.size_q());
        weights = (int16_t *) ((char *) logits + op.size_logits());
        o       = (float *) ((char *) weights + op.size_weights());
        key     = (float *) ((char *) o + op.size_o());
        values  = (float *) ((char *) key + op.size_key());
        own     = (char *) values + op.size_values();
    }

    char    * shared;  // the pieces of all heads
    int16_t * q;       // [d_k/2][H2O_PANEL][2]
    float   * logits;  // [H2O_PIECE][H2O_PANEL]
    int16_t * weights; // [H2O_PIECE/2][H2O_PANEL][2]
    float   * o;       // [H2O_PANEL][ld_v]
    float   * key;     // as F32
    float   * values;  // those of two keys, or of a piece where they lie by channel
    char    * own;     // a piece of a set
};

// of the queries of a panel
struct h2o_int16_state {
    float unit[H2O_PANEL]; // with the op's scale
    float max [H2O_PANEL]; // the largest logit so far
    float sum [H2O_PANEL]; // of the weights relative to it
    float left[H2O_PANEL]; // what a piece leaves of the weights before it
    float gain[H2O_PANEL]; // the unit of a piece's weights
};

}

// keys from key0 on and their values, those of a piece; a value that is no number makes its key's logits so, too, and with
// them the whole output of the rows that see it
static void h2o_pack_piece(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_attn_cells & cells, int64_t key0, const h2o_int16_piece & piece) {
    const int64_t n = std::min(H2O_PIECE, op.n_keys - key0);

    if (op.p.v_trans) {
        cells.read_v(op, key0, n, w.values, op.ld_v);
    }
    for (int64_t i = 0; i < n; i += 2) {
        const int64_t n_here = std::min<int64_t>(2, n - i);
        float       * values = w.values + (op.p.v_trans ? i*op.ld_v : 0);

        if (!op.p.v_trans) {
            cells.read_v(op, key0 + i, n_here, values, op.ld_v);
        }
        if (n_here == 1) {
            std::fill(values + op.ld_v, values + 2*op.ld_v, 0.0f); // so that the last key has another beside it
        }
        float unit_v[2];
        for (int64_t j = 0; j < 2; ++j) {
            unit_v[j] = h2o_size_of_row(values + j*op.ld_v, op.ld_v).max/H2O_VALUE_TOP;
        }
        h2o_int16_round_pair(values, values + op.ld_v, op.ld_v, unit_v[0], unit_v[1], piece.v + i*op.ld_v);

        for (int64_t j = 0; j < n_here; ++j) {
            cells.read_k(op, key0 + i + j, 1, w.key, op.d_k);
            piece.unit_v[i + j] = unit_v[j] == unit_v[j] ? unit_v[j] : 0.0f; // queries that do not see the key add it, too
            piece.unit_k[i + j] = h2o_int16_round_by_norm(w.key, op.d_k, piece.k + (i + j)*op.d_k) + 0.0f*unit_v[j];
        }
    }
}

static void h2o_pack_panel(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_attn_cells & cells, int64_t row0, int64_t n, h2o_int16_state & state) {
    const auto row = [&](int64_t i) {
        return (const float *) op.q->data + op.index(cells.ic, cells.ih, row0 + std::min(i, n - 1))*op.d_k;
    };
    int16_t * rounded = w.weights; // not used yet

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        h2o_prefetch((const char *) row(i + H2O_AHEAD), op.d_k*sizeof(float));

        state.unit[i] = i < n ? h2o_int16_round_by_norm(row(i), op.d_k, rounded)*op.p.scale : 0.0f;

        for (int64_t j = 0; j < op.d_k; j += 2) {
            memcpy(w.q + (j/2*H2O_PANEL + i)*2, rounded + j, 2*sizeof(int16_t));
        }
    }
    std::fill(state.max, state.max + H2O_PANEL, -INFINITY);
    std::fill(state.sum, state.sum + H2O_PANEL, 0.0f);
    std::fill(w.o, w.o + n*op.ld_v, 0.0f);
}

// keys of a piece that row row0 + j does not see: those from its n_visible on
static void h2o_hide(const h2o_int16_op & op, float * logits, int64_t key0, int64_t n, int64_t row0) {
    int32_t seen[H2O_PANEL];
    for (int64_t j = 0; j < H2O_PANEL; ++j) {
        seen[j] = op.n_visible(row0 + j + 1) - key0;
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < H2O_PANEL; ++j) {
            logits[i*H2O_PANEL + j] = i < seen[j] ? logits[i*H2O_PANEL + j] : -INFINITY;
        }
    }
}

// the logits of n keys become weights, in the units that the state says
static void h2o_weigh(const h2o_int16_work & w, const h2o_int16_piece & piece, int64_t n, h2o_int16_state & state) {
    float before[H2O_PANEL];
    std::copy(state.max, state.max + H2O_PANEL, before);
    h2o_columns_max(w.logits, n, H2O_PANEL, state.max);

    for (int64_t j = 0; j < H2O_PANEL; j += 16) {
        const __m512 shift = _mm512_mul_ps(_mm512_loadu_ps(state.max + j), _mm512_set1_ps(-1.0f));
        const __m512 left  = ggml_v_expf(_mm512_add_ps(_mm512_loadu_ps(before + j), shift));

        __m512 sum  = _mm512_mul_ps(_mm512_loadu_ps(state.sum + j), left);
        __m512 most = _mm512_setzero_ps();
        __m512 all  = _mm512_setzero_ps();
        for (int64_t i = 0; i < n; ++i) {
            float * at = w.logits + i*H2O_PANEL + j;

            const __m512 p = ggml_v_expf(_mm512_add_ps(_mm512_loadu_ps(at), shift));
            const __m512 x = _mm512_mul_ps(p, _mm512_set1_ps(piece.unit_v[i]));
            _mm512_storeu_ps(at, x);
            sum  = _mm512_add_ps(sum, p);
            most = h2o_vec_max(x, most);
            all  = _mm512_add_ps(all, x);
        }
        _mm512_storeu_ps(state.sum  + j, sum);
        _mm512_storeu_ps(state.left + j, left);
        _mm512_storeu_ps(state.gain + j, h2o_vec_max(
            _mm512_mul_ps(most, _mm512_set1_ps(1.0f/H2O_WEIGHT_TOP)), _mm512_mul_ps(all, _mm512_set1_ps(1.0f/H2O_WEIGHT_SUM))));
    }

    float inverse[H2O_PANEL];
    for (int64_t j = 0; j < H2O_PANEL; ++j) {
        inverse[j] = state.gain[j] > H2O_LEAST_WEIGHT/H2O_WEIGHT_TOP ? 1.0f/state.gain[j] : 0.0f;
    }
    if (n % 2 == 1) {
        std::fill(w.logits + n*H2O_PANEL, w.logits + (n + 1)*H2O_PANEL, 0.0f);
    }
    for (int64_t i = 0; i < n; i += 2) {
        for (int64_t j = 0; j < H2O_PANEL; j += 16) {
            const float * at = w.logits + i*H2O_PANEL + j;
            const __m512  by = _mm512_loadu_ps(inverse + j);

            h2o_int16_store_pairs(w.weights + (i*H2O_PANEL/2 + j)*2, h2o_int16_round(at, by), h2o_int16_round(at + H2O_PANEL, by));
        }
    }
}

// keys [key0, key0 + n), for the n_rows rows of a panel
static void h2o_attn_to_piece(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_int16_piece & piece, int64_t key0, int64_t n, int64_t row0,
        int64_t n_rows, h2o_int16_state & state) {
    h2o_int16_gemm(n, H2O_PANEL, op.d_k/2, { piece.k, op.d_k, 2 }, w.q, H2O_PANEL,
            [&](int64_t i, int64_t j, __m512 x) {
        const __m512 unit = _mm512_mul_ps(_mm512_set1_ps(piece.unit_k[i]), _mm512_loadu_ps(state.unit + j));
        _mm512_storeu_ps(w.logits + i*H2O_PANEL + j, _mm512_mul_ps(x, unit));
    });

    if (op.n_visible(row0 + 1) < key0 + n) {
        h2o_hide(op, w.logits, key0, n, row0);
    }
    h2o_weigh(w, piece, n, state);

    h2o_int16_gemm(n_rows, op.ld_v, (n + 1)/2, { w.weights, 2, 2*H2O_PANEL }, piece.v, op.ld_v,
            [&](int64_t i, int64_t j, __m512 x) {
        float * o = w.o + i*op.ld_v + j;
        _mm512_storeu_ps(o, _mm512_fmadd_ps(x, _mm512_set1_ps(state.gain[i]), _mm512_mul_ps(_mm512_loadu_ps(o), _mm512_set1_ps(state.left[i]))));
    });
}

static void h2o_write_panel(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_attn_cells & cells, ggml_tensor * dst, int64_t row0, int64_t n,
        const h2o_int16_state & state) {
    for (int64_t i = 0; i < n; ++i) {
        h2o_write_row(op, dst, op.index(cells.ic, cells.ih, row0 + i), w.o + i*op.ld_v, 1.0f/state.sum[i],
                state.max[i] + logf(state.sum[i]));
    }
}

static void h2o_over_sets(const h2o_int16_op & op, const h2o_int16_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t n_sets = op.set->ne[2];

    const h2o_int16_piece piece(op, w.own);

    for (int64_t i = params->ith; i < op.n_head*n_sets; i += params->nth) {
        const int64_t is = i%n_sets;

        const h2o_attn_cells cells   = h2o_attn_cells::of_set(op, i/n_sets, is);
        const int64_t        row_end = std::min((is + 1)*op.n_rows_of_set(), op.n_rows);

        for (int64_t row = is*op.n_rows_of_set(); row < row_end; row += H2O_PANEL) {
            const int64_t n = std::min<int64_t>(H2O_PANEL, row_end - row);

            h2o_int16_state state;
            h2o_pack_panel(op, w, cells, row, n, state);
            for (int64_t key = 0; key < op.n_keys; key += H2O_PIECE) {
                h2o_pack_piece(op, w, cells, key, piece);
                h2o_attn_to_piece(op, w, piece, key, std::min(H2O_PIECE, op.n_keys - key), row, n, state);
            }
            h2o_write_panel(op, w, cells, dst, row, n, state);
        }
    }
}

static void h2o_over_cells(const h2o_int16_op & op, const h2o_int16_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t n_panels = (op.n_rows + H2O_PANEL - 1)/H2O_PANEL;

    const auto piece = [&](int64_t ih, int64_t ip) { return h2o_int16_piece(op, w.shared + (ih*op.n_pieces + ip)*op.size_piece()); };

    for (int64_t ic = 0; ic < op.n_chunks; ++ic) {
        if (ic > 0) {
            ggml_barrier(params->threadpool); // the chunk before is still read
        }
        for (int64_t i = params->ith; i < op.n_head*op.n_pieces; i += params->nth) {
            const int64_t ih = i/op.n_pieces;
            const int64_t ip = i%op.n_pieces;

            h2o_pack_piece(op, w, { ic, ih, nullptr }, ip*H2O_PIECE, piece(ih, ip));
        }

        ggml_barrier(params->threadpool);

        for (int64_t i = params->ith; i < op.n_head*n_panels; i += params->nth) {
            const h2o_attn_cells cells = { ic, i/n_panels, nullptr };

            const int64_t row   = i%n_panels*H2O_PANEL;
            const int64_t n     = std::min<int64_t>(H2O_PANEL, op.n_rows - row);
            const int64_t n_vis = op.n_visible(row + n);

            h2o_int16_state state;
            h2o_pack_panel(op, w, cells, row, n, state);
            for (int64_t key = 0; key < n_vis; key += H2O_PIECE) {
                h2o_attn_to_piece(op, w, piece(cells.ih, key/H2O_PIECE), key, std::min(H2O_PIECE, n_vis - key), row, n, state);
            }
            h2o_write_panel(op, w, cells, dst, row, n, state);
        }
    }
}

// H2O_INT16=0: as if it had not
static bool h2o_int16_available() {
    static const bool res = [] {
        const char * H2O_INT16 = getenv("H2O_INT16");
        return !H2O_INT16 || atoi(H2O_INT16) != 0;
    }();
    return res;
}

bool h2o_attn_int16_supported(const ggml_tensor * dst) {
    const ggml_tensor * q = dst->src[0];
    const ggml_tensor * k = dst->src[1];
    const ggml_tensor * v = dst->src[2];

    return h2o_int16_available() && h2o_has_panels(dst) &&
        k->type != GGML_TYPE_F32 && v->type != GGML_TYPE_F32 && q->ne[0] % H2O_INT16_STEP == 0;
}

void h2o_forward_attn_int16(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_int16_op   op(dst);
    const h2o_int16_work w(op, params);

    // padding channels are read, and must be numbers
    std::fill_n((char *) w.values, op.size_values(), 0);

    if (op.set) {
        h2o_over_sets(op, w, params, dst);
    } else {
        h2o_over_cells(op, w, params, dst);
    }
}

size_t h2o_attn_int16_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_int16_op op(dst);

    return op.size_shared() + n_tasks*op.size_thread() + H2O_ALIGN;
}

#endif
