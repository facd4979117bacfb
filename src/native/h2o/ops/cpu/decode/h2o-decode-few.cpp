#include "h2o-decode-few.h"

#include "h2o-decode-cells.h"
#include "h2o-decode-logits.h"
#include "h2o-decode-mask.h"
#include "h2o-decode-vec.h"

// floats of a row's logits
static constexpr int64_t H2O_LD = H2O_DECODE_TILE + H2O_STEP_ROOM;

static_assert(H2O_STEP_ROOM >= H2O_COL_STEP, "softmax takes whole steps of columns");

namespace {

// Rows come in steps, each of which begins where its first row does.
struct h2o_few_work {
    h2o_few_work(const h2o_decode_op & op, float * work) :
        ld_q(h2o_packed_pad(op.d_k)), n_pad(h2o_steps_pad(op.n_rows)),
        q(work), logits(q + op.n_head_kv*op.n_rows*ld_q), weights(logits + op.n_head_kv*n_pad*H2O_LD),
        cells(weights + op.n_rows*H2O_DECODE_TILE), mask(cells + size_cells(op)) {}

    static int64_t size_cells(const h2o_decode_op & op) {
        return std::max(H2O_DECODE_BLOCK*std::max(op.d_k, op.d_v), n_channels*H2O_DECODE_TILE);
    }

    static constexpr int64_t n_channels = 8; // of a transposed V that are read at once

    const int64_t ld_q;  // floats of a row's query
    const int64_t n_pad; // rows

    float * q;       // [n_head_kv*n_rows][ld_q], scaled and packed
    float * logits;  // [n_head_kv*n_pad][H2O_LD]: of each step [H2O_DECODE_TILE][h2o_step_pad]
    float * weights; // [n_rows][H2O_DECODE_TILE] of a head, packed
    float * cells;   // a block of a head, or some channels of a tile
    float * mask;    // [n_tokens][H2O_DECODE_TILE]

    float * q_at     (const h2o_decode_op & op, int64_t ih, int64_t row) const { return q + (ih*op.n_rows + row)*ld_q; }
    float * logits_at(int64_t ih, int64_t row)                           const { return logits + (ih*n_pad + row)*H2O_LD; }
};

}

int64_t h2o_decode_few_work_size(const h2o_decode_op & op) {
    const int64_t n_logits = op.n_head_kv*h2o_steps_pad(op.n_rows)*H2O_LD;

    return op.n_head_kv*op.n_rows*h2o_packed_pad(op.d_k) + n_logits + (op.n_rows + op.n_tokens)*H2O_DECODE_TILE +
        h2o_few_work::size_cells(op);
}

// f(i, head, its cells i.. of the list). Cells come in blocks, as memory is read best, and a block head by head. The next one
// is fetched meanwhile, in the order of memory where its cells are neighbours, and with the last one what lies at `then`.
template <typename F>
static void h2o_each_block(
        const h2o_decode_cells & cells, const h2o_decode_seen & seen, const char * then, float * buf, F f) {
    const bool is_dense = cells.nb_head == cells.size && cells.nb == cells.n_head_kv*cells.size;

    for (int64_t i = 0; i < seen.n; i += H2O_DECODE_BLOCK) {
        const int64_t   n    = std::min(H2O_DECODE_BLOCK, seen.n - i);
        const int32_t * next = seen.cells + i + n;

        const bool is_last  = seen.n - (i + n) < n; // a rest is not fetched
        const bool in_order = is_last || (is_dense && next[n - 1] - next[0] == n - 1);

        const char * ahead = is_last ? then : cells.at(next[0], 0);

        for (int64_t ih = 0; ih < cells.n_head_kv; ++ih) {
            const h2o_places places = in_order ?
                h2o_places{ ahead + ih*n*cells.size, nullptr, cells.size } : cells.places(next, ih);

            cells.read(seen.cells + i, n, ih, buf, places, [&](const auto & block) { f(i, ih, block); });
        }
    }
}

static void h2o_few_logits(const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen) {
    const char * values = h2o_decode_cells(op, op.v).at(op.p.v_trans ? 0 : seen.cells[0], 0);

    h2o_each_block(h2o_decode_cells(op, op.k), seen, values, w.cells, [&](int64_t i, int64_t ih, const auto & keys) {
        h2o_in_steps(op.n_rows, [&](auto n, int64_t row) {
            h2o_products_of<n>(w.q_at(op, ih, row), keys, op.d_k, w.logits_at(ih, row) + i*h2o_step_pad(n));
        });
    });
}

// logits become weights, and what was summed before is scaled to them
static void h2o_few_weights(
        const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen, h2o_decode_state state) {
    for (int64_t ih = 0; ih < op.n_head_kv; ++ih) {
        h2o_in_steps(op.n_rows, [&](auto n, int64_t row) {
            const h2o_decode_state rows = state.from(ih*op.n_rows + row, op.ld_v);

            float * x = w.logits_at(ih, row);

            h2o_limit_columns(op, seen, row, n, x, h2o_step_pad(n));

            float scale[n];
            h2o_weigh_step(x, seen.n, n, rows.max, rows.sum, scale);

            for (int64_t r = 0; r < n; ++r) {
                for (int64_t j = 0; j < op.d_v && scale[r] != 1.0f; ++j) {
                    rows.o[r*op.ld_v + j] *= scale[r];
                }
            }
        });
    }
}

static void h2o_few_values(
        const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen, h2o_decode_state state) {
    const int64_t next = std::min<int64_t>(seen.cells[seen.n - 1] + 1, op.n_kv - 1); // tile

    const char * keys = h2o_decode_cells(op, op.k).at(next, 0);

    h2o_each_block(h2o_decode_cells(op, op.v), seen, keys, w.cells, [&](int64_t i, int64_t ih, const auto & values) {
        h2o_in_steps(op.n_rows, [&](auto n, int64_t row) {
            float * o = state.o + (ih*op.n_rows + row)*op.ld_v;

            h2o_add_weighted<n>(w.logits_at(ih, row) + i*h2o_step_pad(n), values, op.d_v, o, op.ld_v);
        });
    });
}

// values whose cells are neighbours, channel by channel: products of the weights, where the cells lie, and them
static void h2o_few_channels(
        const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen, h2o_decode_state state) {
    const int64_t first = seen.cells[0];
    const int64_t n     = seen.cells[seen.n - 1] + 1 - first;

    for (int64_t ih = 0; ih < op.n_head_kv; ++ih) {
        std::fill(w.weights, w.weights + op.n_rows*H2O_DECODE_TILE, 0.0f);

        h2o_in_steps(op.n_rows, [&](auto n_rows, int64_t row) {
            for (int64_t i = 0; i < seen.n; ++i) {
                for (int64_t r = 0; r < n_rows; ++r) {
                    w.weights[row*H2O_DECODE_TILE + h2o_packed_at<n_rows>(r, seen.cells[i] - first)] =
                        w.logits_at(ih, row)[i*h2o_step_pad(n_rows) + r];
                }
            }
        });

        for (int64_t j = 0; j < op.d_v; j += w.n_channels) {
            const int64_t n_here = std::min(w.n_channels, op.d_v - j);

            for (int64_t i = 0; i < n_here; ++i) {
                const char * src = op.data(op.v) + ih*op.v->nb[2] + (j + i)*op.v->nb[1] + first*op.v->nb[0];

                h2o_row_to_float(op.v->type, src, w.cells + i*H2O_DECODE_TILE, n);
            }
            const h2o_places       places = { (const char *) w.cells, nullptr, H2O_DECODE_TILE*sizeof(float) };
            const h2o_block<float> channels(places, places, n_here, 0);

            h2o_in_steps(op.n_rows, [&](auto n_rows, int64_t row) {
                constexpr int64_t ld = h2o_step_pad(n_rows);

                float sums[w.n_channels*ld + H2O_STEP_ROOM];
                h2o_products_of<n_rows>(w.weights + row*H2O_DECODE_TILE, channels, n, sums);

                for (int64_t r = 0; r < n_rows; ++r) {
                    for (int64_t i = 0; i < n_here; ++i) {
                        state.o[(ih*op.n_rows + row + r)*op.ld_v + j + i] += sums[i*ld + r];
                    }
                }
            });
        }
    }
}

void h2o_decode_few(const h2o_decode_op & op, float * work, int64_t range, h2o_decode_state state) {
    const h2o_few_work w(op, work);

    for (int64_t ih = 0; ih < op.n_head_kv; ++ih) {
        h2o_in_steps(op.n_rows, [&](auto n, int64_t row) {
            h2o_pack_rows<n>(w.q_at(op, ih, row), op.d_k, op.p.scale, [&](int64_t r) { return op.query(ih, row + r); });
        });
    }

    state.begin(op.n_head_kv*op.n_rows, op.ld_v);
    h2o_decode_seen seen(op, w.mask);

    for (int64_t key = range*op.n_range; key < std::min(op.n_kv, (range + 1)*op.n_range); key += H2O_DECODE_TILE) {
        seen.find(key, std::min(op.n_kv, key + H2O_DECODE_TILE));
        if (seen.n == 0) {
            continue;
        }
        h2o_few_logits (op, w, seen);
        h2o_few_weights(op, w, seen, state);

        if (op.p.v_trans) {
            h2o_few_channels(op, w, seen, state);
        } else {
            h2o_few_values(op, w, seen, state);
        }
    }
}
