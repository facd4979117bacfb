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
#include "h2o-exp2.h"
#include "h2o-share.h"
#include "h2o-turn.h"

#include "ggml-cpu-impl.h"

#include <cstdlib>

// Keys come in pieces of 64 with online softmax, queries in panels of 64 side by side (h2o-columns.h). Keys and queries
// are rounded row by row. Values are rounded key by key; what a key's unit is goes into its weight, and the weights of a
// query are rounded over a piece.
//
// Over neighbouring keys all threads pack the keys of a chunk, then each takes panels of queries. Over sets all threads round
// the members of a KV head, each once for all sets that hold it, then each takes blocks of queries as a whole.

static constexpr int64_t H2O_PIECE = 64; // keys

// what the sums of a piece can hold: the weights of a query add up to 65000, and 32 more by rounding, and 65032*32767 is less
// than 2^31
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
    int64_t size_pieces() const { return n_head*n_pieces*size_piece(); }

    // a cell of a KV head that a set may hold
    int64_t n_cells()     const { return k->ne[1]; }
    int64_t size_cell()   const { return (d_k + ld_v)*sizeof(int16_t) + 2*sizeof(float); }
    int64_t size_marks()  const { return GGML_PAD(n_cells(), H2O_ALIGN); }

    int64_t size_shared(int n_tasks) const {
        return set ? GGML_PAD(n_cells()*size_cell(), H2O_ALIGN) + n_tasks*size_marks() : size_pieces();
    }

    int64_t size_q()      const { return H2O_PANEL*d_k*sizeof(int16_t); }
    int64_t size_logits() const { return H2O_PIECE*H2O_PANEL*sizeof(float); }
    int64_t size_o()      const { return H2O_PANEL*ld_v*sizeof(float); }
    int64_t size_weights() const { return std::max(size_logits()/2, size_q()); }
    int64_t size_key()    const { return d_k*sizeof(float); }
    int64_t size_values() const { return (p.v_trans ? H2O_PIECE : 1)*ld_v*sizeof(float); }
    int64_t size_rounded() const { return H2O_PIECE*size_cell(); }
    int64_t size_thread() const {
        return GGML_PAD(
            size_q() + size_logits() + size_weights() + size_o() + size_key() + size_values() + size_piece() + size_rounded(),
            H2O_ALIGN);
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

// rounded keys and values, cell by cell
struct h2o_int16_cells {
    h2o_int16_cells(const h2o_int16_op & op, char * base, int64_t n) {
        k      = (int16_t *) base;
        v      = k + n*op.d_k;
        unit_k = (float *) (v + n*op.ld_v);
        unit_v = unit_k + n;
    }

    int16_t * k; // [n][d_k]
    int16_t * v; // [n][ld_v]
    float   * unit_k;
    float   * unit_v;
};

struct h2o_int16_work {
    h2o_int16_work(const h2o_int16_op & op, const ggml_compute_params * params) {
        shared  = (char *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN);
        q       = (int16_t *) (shared + op.size_shared(params->nth) + params->ith*op.size_thread());
        logits  = (float *) ((char *) q + op.size_q());
        weights = (int16_t *) ((char *) logits + op.size_logits());
        o       = (float *) ((char *) weights + op.size_weights());
        key     = (float *) ((char *) o + op.size_o());
        values  = (float *) ((char *) key + op.size_key());
        own     = (char *) values + op.size_values();
        rounded = own + op.size_piece();
    }

    char    * shared;  // the pieces of all heads, or the cells of a KV head and a mark of each thread for each
    int16_t * q;       // [d_k/2][H2O_PANEL][2]
    float   * logits;  // [H2O_PIECE][H2O_PANEL]
    int16_t * weights; // [H2O_PIECE/2][H2O_PANEL][2]
    float   * o;       // [H2O_PANEL][ld_v]
    float   * key;     // as F32
    float   * values;  // those of a key, or of a piece where they lie by channel
    char    * own;     // a piece of a set
    char    * rounded; // cells of a piece
};

// of the queries of a panel
struct h2o_int16_state {
    float unit[H2O_PANEL]; // with the op's scale, for powers of two
    float max [H2O_PANEL]; // the largest logit so far, as such a power
    float sum [H2O_PANEL]; // of the weights relative to it
    float left[H2O_PANEL]; // what a piece leaves of the weights before it
    float gain[H2O_PANEL]; // the unit of a piece's weights
};

}

// the i-th of `out`; a value that is no number makes its key's logits so, too, and with them the whole output of the rows that
// see it
static void h2o_round_cell(const h2o_int16_op & op, const float * key, const float * values, const h2o_int16_cells & out, int64_t i) {
    const float unit_v = h2o_int16_round_by_max(values, op.ld_v, out.v + i*op.ld_v);

    out.unit_v[i] = unit_v == unit_v ? unit_v : 0.0f; // queries that do not see the key add it, too
    out.unit_k[i] = h2o_int16_round_by_norm(key, op.d_k, out.k + i*op.d_k) + 0.0f*unit_v;
}

// n cells as they are multiplied; at(i): the place of the i-th, up to n_ahead of which are wanted soon
template <typename F>
static void h2o_pack_piece(
        const h2o_int16_op & op, const h2o_int16_cells & cells, int64_t n, int64_t n_ahead, const F & at, const h2o_int16_piece & piece) {
    static const int16_t zeros[H2O_INT16_STEP] = {};

    for (int64_t i = 0; i < n; ++i) {
        const int64_t next = at(std::min(i + H2O_AHEAD, n_ahead - 1));
        h2o_prefetch((const char *) (cells.k + next*op.d_k),  op.d_k*sizeof(int16_t));
        h2o_prefetch((const char *) (cells.v + next*op.ld_v), op.ld_v*sizeof(int16_t));

        std::copy_n(cells.k + at(i)*op.d_k, op.d_k, piece.k + i*op.d_k);
        piece.unit_k[i] = cells.unit_k[at(i)];
        piece.unit_v[i] = cells.unit_v[at(i)];
    }
    for (int64_t i = 0; i < n; i += 2) {
        const int16_t * a = cells.v + at(i)*op.ld_v;

        if (i + 1 < n) {
            h2o_int16_join(a, cells.v + at(i + 1)*op.ld_v, op.ld_v, piece.v + i*op.ld_v);
            continue;
        }
        for (int64_t j = 0; j < op.ld_v; j += H2O_INT16_STEP) { // so that the last key has another beside it
            h2o_int16_join(a + j, zeros, H2O_INT16_STEP, piece.v + i*op.ld_v + 2*j);
        }
    }
}

// keys from key0 on and their values, those of a piece
static void h2o_pack_neighbours(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_attn_cells & cells, int64_t key0, const h2o_int16_piece & piece) {
    const int64_t n = std::min(H2O_PIECE, op.n_keys - key0);

    const h2o_int16_cells rounded(op, w.rounded, H2O_PIECE);

    if (op.p.v_trans) {
        cells.read_v(op, key0, n, w.values, op.ld_v);
    }
    for (int64_t i = 0; i < n; ++i) {
        float * values = w.values + (op.p.v_trans ? i*op.ld_v : 0);

        if (!op.p.v_trans) {
            cells.read_v(op, key0 + i, 1, values, op.ld_v);
        }
        cells.read_k(op, key0 + i, 1, w.key, op.d_k);
        h2o_round_cell(op, w.key, values, rounded, i);
    }
    h2o_pack_piece(op, rounded, n, n, [](int64_t i) { return i; }, piece);
}

static void h2o_pack_panel(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_attn_cells & cells, int64_t row0, int64_t n, h2o_int16_state & state) {
    const auto row = [&](int64_t i) {
        return (const float *) op.q->data + op.index(cells.ic, cells.ih, row0 + std::min(i, n - 1))*op.d_k;
    };
    int16_t * rounded = w.weights; // not used yet

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        h2o_prefetch((const char *) row(i + H2O_AHEAD), op.d_k*sizeof(float));

        state.unit[i] = i < n ? h2o_int16_round_by_norm(row(i), op.d_k, rounded + i*op.d_k)*op.p.scale*H2O_LOG2E : 0.0f;
    }
    h2o_turn(rounded, op.d_k/2, w.q);
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

    for (int64_t j = 0; j < H2O_PANEL; j += H2O_VEC_N) {
        const h2o_vec shift = h2o_vec_mul(h2o_vec_load(state.max + j), h2o_vec_set1(-1.0f));
        const h2o_vec left  = h2o_exp2(h2o_vec_add(h2o_vec_load(before + j), shift));

        h2o_vec sum  = h2o_vec_mul(h2o_vec_load(state.sum + j), left);
        h2o_vec most = h2o_vec_zero();
        h2o_vec all  = h2o_vec_zero();
        for (int64_t i = 0; i < n; ++i) {
            float * at = w.logits + i*H2O_PANEL + j;

            const h2o_vec p = h2o_exp2(h2o_vec_add(h2o_vec_load(at), shift));
            const h2o_vec x = h2o_vec_mul(p, h2o_vec_set1(piece.unit_v[i]));
            h2o_vec_store(at, x);
            sum  = h2o_vec_add(sum, p);
            most = h2o_vec_max(x, most);
            all  = h2o_vec_add(all, x);
        }
        h2o_vec_store(state.sum  + j, sum);
        h2o_vec_store(state.left + j, left);
        h2o_vec_store(state.gain + j, h2o_vec_max(
            h2o_vec_mul(most, h2o_vec_set1(1.0f/H2O_WEIGHT_TOP)), h2o_vec_mul(all, h2o_vec_set1(1.0f/H2O_WEIGHT_SUM))));
    }

    float inverse[H2O_PANEL];
    for (int64_t j = 0; j < H2O_PANEL; ++j) {
        inverse[j] = state.gain[j] > H2O_LEAST_WEIGHT/H2O_WEIGHT_TOP ? 1.0f/state.gain[j] : 0.0f;
    }
    if (n % 2 == 1) {
        std::fill(w.logits + n*H2O_PANEL, w.logits + (n + 1)*H2O_PANEL, 0.0f);
    }
    for (int64_t i = 0; i < n; i += 2) {
        for (int64_t j = 0; j < H2O_PANEL; j += H2O_VEC_N) {
            const float * at = w.logits + i*H2O_PANEL + j;
            const h2o_vec by = h2o_vec_load(inverse + j);

            h2o_int8_lanes::store(
                w.weights + (i*H2O_PANEL/2 + j)*2, h2o_int8_lanes::pair16(h2o_int16_round(at, by), h2o_int16_round(at + H2O_PANEL, by)));
        }
    }
}

// keys [key0, key0 + n), for the n_rows rows of a panel
static void h2o_attn_to_piece(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_int16_piece & piece, int64_t key0, int64_t n, int64_t row0,
        int64_t n_rows, h2o_int16_state & state) {
    h2o_int16_gemm(n, H2O_PANEL, op.d_k/2, { piece.k, op.d_k, 2 }, w.q, H2O_PANEL,
            [&](int64_t i, int64_t j, h2o_vec x) {
        const h2o_vec unit = h2o_vec_mul(h2o_vec_set1(piece.unit_k[i]), h2o_vec_load(state.unit + j));
        h2o_vec_store(w.logits + i*H2O_PANEL + j, h2o_vec_mul(x, unit));
    });

    if (op.n_visible(row0 + 1) < key0 + n) {
        h2o_hide(op, w.logits, key0, n, row0);
    }
    h2o_weigh(w, piece, n, state);

    h2o_int16_gemm(n_rows, op.ld_v, (n + 1)/2, { w.weights, 2, 2*H2O_PANEL }, piece.v, op.ld_v,
            [&](int64_t i, int64_t j, h2o_vec x) {
        float * o = w.o + i*op.ld_v + j;
        h2o_vec_store(o, h2o_vec_fma(h2o_vec_mul(h2o_vec_load(o), h2o_vec_set1(state.left[i])), x, h2o_vec_set1(state.gain[i])));
    });
}

static void h2o_write_panel(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_attn_cells & cells, ggml_tensor * dst, int64_t row0, int64_t n,
        const h2o_int16_state & state) {
    for (int64_t i = 0; i < n; ++i) {
        h2o_write_row(op, dst, op.index(cells.ic, cells.ih, row0 + i), w.o + i*op.ld_v, 1.0f/state.sum[i],
                state.max[i]/H2O_LOG2E + logf(state.sum[i]));
    }
}

// marks [n_cells] what is in this thread's share of the sets of a KV head
static void h2o_mark_members(const h2o_int16_op & op, int64_t ih_kv, const ggml_compute_params * params, char * marks) {
    const int64_t n_sets = op.set->ne[2];

    std::fill_n(marks, op.n_cells(), 0);
    for (int64_t i = params->ith; i < op.n_per_kv*n_sets; i += params->nth) {
        const h2o_attn_cells cells = h2o_attn_cells::of_set(op, ih_kv*op.n_per_kv + i/n_sets, i%n_sets);

        for (int64_t key = 0; key < op.n_keys; ++key) { // repeats, too
            marks[cells.at(key)] = 1;
        }
    }
}

// this thread's share of the cells that any thread marked
static void h2o_round_members(
        const h2o_int16_op & op, const h2o_int16_work & w, int64_t ih_kv, const ggml_compute_params * params, const char * marks,
        const h2o_int16_cells & out) {
    const h2o_attn_cells cells = { 0, ih_kv*op.n_per_kv, nullptr };

    const int64_t end = op.n_cells()*(params->ith + 1)/params->nth;

    for (int64_t i = op.n_cells()*params->ith/params->nth; i < end; ++i) {
        bool is_member = false;
        for (int t = 0; t < params->nth; ++t) {
            is_member |= marks[t*op.size_marks() + i] != 0;
        }
        if (is_member) {
            cells.read_k(op, i, 1, w.key, op.d_k);
            cells.read_v(op, i, 1, w.values, op.ld_v);
            h2o_round_cell(op, w.key, w.values, out, i);
        }
    }
}

static void h2o_over_set(
        const h2o_int16_op & op, const h2o_int16_work & w, const h2o_int16_cells & rounded, int64_t ih, int64_t is, ggml_tensor * dst) {
    const h2o_int16_piece piece(op, w.own);

    const h2o_attn_cells cells   = h2o_attn_cells::of_set(op, ih, is);
    const int64_t        n_all   = op.n_members(ih, is);
    const int64_t        row_end = std::min((is + 1)*op.n_rows_of_set(), op.n_rows);

    for (int64_t row = is*op.n_rows_of_set(); row < row_end; row += H2O_PANEL) {
        const int64_t n = std::min<int64_t>(H2O_PANEL, row_end - row);

        h2o_int16_state state;
        h2o_pack_panel(op, w, cells, row, n, state);
        for (int64_t key = 0; key < n_all; key += H2O_PIECE) {
            const int64_t n_keys = std::min(H2O_PIECE, n_all - key);

            h2o_pack_piece(op, rounded, n_keys, n_all - key, [&](int64_t i) { return cells.at(key + i); }, piece);
            h2o_attn_to_piece(op, w, piece, key, n_keys, row, n, state);
        }
        h2o_write_panel(op, w, cells, dst, row, n, state);
    }
}

static void h2o_over_sets(const h2o_int16_op & op, const h2o_int16_work & w, const ggml_compute_params * params, ggml_tensor * dst) {
    const int64_t n_sets = op.set->ne[2];

    const h2o_int16_cells rounded(op, w.shared, op.n_cells());
    char * const          marks = w.shared + GGML_PAD(op.n_cells()*op.size_cell(), H2O_ALIGN);

    for (int64_t ih_kv = 0; ih_kv < op.k->ne[2]; ++ih_kv) {
        h2o_mark_members(op, ih_kv, params, marks + params->ith*op.size_marks());
        ggml_barrier(params->threadpool); // and the members before are no longer read
        h2o_round_members(op, w, ih_kv, params, marks, rounded);

        h2o_share_out(params, op.n_per_kv*n_sets, [&](int64_t i) {
            h2o_over_set(op, w, rounded, ih_kv*op.n_per_kv + i/n_sets, i%n_sets, dst);
        });
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

            h2o_pack_neighbours(op, w, { ic, ih, nullptr }, ip*H2O_PIECE, piece(ih, ip));
        }

        h2o_share_out(params, op.n_head*n_panels, [&](int64_t i) {
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
        });
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

    return op.size_shared(n_tasks) + n_tasks*op.size_thread() + H2O_ALIGN;
}

#endif
