#include "h2o-decode-few.h"

#include "h2o-decode-cells.h"
#include "h2o-decode-logits.h"
#include "h2o-decode-mask.h"
#include "h2o-decode-vec.h"

#include "h2o-softmax.h"

// rows of logits are not a power of two apart
static constexpr int64_t H2O_LD = H2O_DECODE_TILE + H2O_ROW_STEP;

namespace {

struct h2o_few_work {
    h2o_few_work(const h2o_decode_op & op, float * work) :
        q(work), logits(q + op.n_head_kv*op.n_rows*op.d_k), cells(logits + op.n_head_kv*op.n_rows*H2O_LD),
        mask(cells + size_cells(op)) {}

    static int64_t size_cells(const h2o_decode_op & op) {
        return std::max(H2O_DECODE_BLOCK*std::max(op.d_k, op.d_v), n_channels*H2O_DECODE_TILE);
    }

    static constexpr int64_t n_channels = 8; // of a transposed V that are read at once

    float * q;      // [n_head_kv*n_rows][d_k], scaled
    float * logits; // [n_head_kv*n_rows][H2O_LD]
    float * cells;  // a block of a head, or some channels of a tile
    float * mask;   // [n_tokens][H2O_DECODE_TILE]
};

}

int64_t h2o_decode_few_work_size(const h2o_decode_op & op) {
    return op.n_head_kv*op.n_rows*(op.d_k + H2O_LD) + h2o_few_work::size_cells(op) + op.n_tokens*H2O_DECODE_TILE;
}

// f(i, head, its cells i.. of the list). Cells come in blocks, as memory is read best, and a block head by head. The next one
// is fetched meanwhile, as it lies.
template <typename F>
static void h2o_each_block(const h2o_decode_cells & cells, const h2o_decode_seen & seen, float * buf, F f) {
    for (int64_t i = 0; i < seen.n; i += H2O_DECODE_BLOCK) {
        const int64_t n = std::min(H2O_DECODE_BLOCK, seen.n - i);

        for (int64_t ih = 0; ih < cells.n_head_kv; ++ih) {
            const auto ahead = [&](int64_t k) {
                const int64_t at = ih*n + k;
                return cells.at(seen.cells[std::min(i + n + at/cells.n_head_kv, seen.n - 1)], at%cells.n_head_kv);
            };
            cells.read(seen.cells + i, n, ih, buf, ahead, [&](const auto & block) { f(i, ih, block); });
        }
    }
}

static void h2o_few_logits(const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen) {
    h2o_each_block(h2o_decode_cells(op, op.k), seen, w.cells, [&](int64_t i, int64_t ih, const auto & keys) {
        h2o_in_steps(op.n_rows, [&](auto n, int64_t row) {
            const int64_t at = ih*op.n_rows + row;

            h2o_products_of<n>(w.q + at*op.d_k, op.d_k, keys, op.d_k, w.logits + at*H2O_LD + i, H2O_LD);
        });
    });
}

// logits become weights, and what was summed before is scaled to them
static void h2o_few_weights(
        const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen, h2o_decode_state state) {
    const int64_t n_pad = h2o_row_pad(seen.n);

    for (int64_t at = 0; at < op.n_head_kv*op.n_rows; ++at) {
        const float scale = h2o_weigh_row(op, seen, at%op.n_rows, w.logits + at*H2O_LD, n_pad, state.max[at], state.sum[at]);

        for (int64_t j = 0; j < op.d_v && scale != 1.0f; ++j) {
            state.o[at*op.ld_v + j] *= scale;
        }
    }
}

static void h2o_few_values(
        const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen, h2o_decode_state state) {
    h2o_each_block(h2o_decode_cells(op, op.v), seen, w.cells, [&](int64_t i, int64_t ih, const auto & values) {
        h2o_in_steps(op.n_rows, [&](auto n, int64_t row) {
            const int64_t at = ih*op.n_rows + row;

            h2o_add_weighted<n>(w.logits + at*H2O_LD + i, H2O_LD, values, op.d_v, state.o + at*op.ld_v, op.ld_v);
        });
    });
}

// values whose cells are neighbours, channel by channel: products of their rows and the weights
static void h2o_few_channels(
        const h2o_decode_op & op, const h2o_few_work & w, const h2o_decode_seen & seen, h2o_decode_state state) {
    const int64_t first = seen.cells[0];
    const int64_t n     = seen.cells[seen.n - 1] + 1 - first;

    h2o_spread_weights(w.logits, H2O_LD, op.n_head_kv*op.n_rows, seen.cells, seen.n);

    for (int64_t ih = 0; ih < op.n_head_kv; ++ih) {
        for (int64_t j = 0; j < op.d_v; j += w.n_channels) {
            const int64_t n_here = std::min(w.n_channels, op.d_v - j);

            h2o_block<float> channels = { {}, {}, n_here, 0 };
            for (int64_t i = 0; i < n_here; ++i) {
                const char * src = op.data(op.v) + ih*op.v->nb[2] + (j + i)*op.v->nb[1] + first*op.v->nb[0];

                h2o_row_to_float(op.v->type, src, w.cells + i*H2O_DECODE_TILE, n);
                channels.row[i] = w.cells + i*H2O_DECODE_TILE;
            }
            h2o_in_steps(op.n_rows, [&](auto n_rows, int64_t row) {
                const int64_t at = ih*op.n_rows + row;

                float sums[n_rows*h2o_few_work::n_channels];
                h2o_products_of<n_rows>(w.logits + at*H2O_LD, H2O_LD, channels, n, sums, w.n_channels);

                for (int64_t r = 0; r < n_rows; ++r) {
                    for (int64_t i = 0; i < n_here; ++i) {
                        state.o[(at + r)*op.ld_v + j + i] += sums[r*w.n_channels + i];
                    }
                }
            });
        }
    }
}

void h2o_decode_few(const h2o_decode_op & op, float * work, int64_t range, h2o_decode_state state) {
    const h2o_few_work w(op, work);

    for (int64_t at = 0; at < op.n_head_kv*op.n_rows; ++at) {
        const float * q = op.query(at/op.n_rows, at%op.n_rows);

        for (int64_t j = 0; j < op.d_k; ++j) {
            w.q[at*op.d_k + j] = q[j]*op.p.scale;
        }
    }

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
