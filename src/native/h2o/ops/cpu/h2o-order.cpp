#include "h2o-order.h"

#include "h2o-select.h"

#include "../ggml-h2o.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>

// A thread takes a head. Sums over rows are of 32 bits for as many rows as cannot overflow them.

static constexpr int64_t H2O_ROWS_OF_SUM = 1 << 15;

namespace {

struct h2o_order_op {
    explicit h2o_order_op(const ggml_tensor * dst) :
        q(dst->src[0]), d(q->ne[0]), n_head(q->ne[1]), n_queries(q->ne[2]) {}

    const ggml_tensor * q;

    const int64_t d;
    const int64_t n_head;
    const int64_t n_queries;

    const float * q_at(int64_t query, int64_t ih) const { return (const float *) q->data + (query*n_head + ih)*d; }

    size_t size_thread() const {
        return GGML_PAD(3*d*sizeof(int64_t) + 2*d*sizeof(int32_t) + 3*n_queries*sizeof(int32_t) + n_queries*d, 64);
    }
};

struct h2o_order_work {
    h2o_order_work(const h2o_order_op & op, const ggml_compute_params * params) {
        sums    = (int64_t *) ((char *) GGML_PAD((uintptr_t) params->wdata, 64) + params->ith*op.size_thread());
        squares = sums    + op.d;
        along   = squares + op.d;
        part    = (int32_t *) (along + op.d);
        part_2  = part   + op.d;
        keys    = part_2 + op.d;
        taken   = keys   + op.n_queries;
        others  = taken  + op.n_queries;
        rounded = (int8_t *) (others + op.n_queries);
    }

    int64_t * sums;    // [d] of r
    int64_t * squares; // [d]
    int64_t * along;   // [d] the direction
    int32_t * part;    // [d] of some rows
    int32_t * part_2;  // [d]
    int32_t * keys;    // [n] what queries are split by, the lower part has the larger ones
    int32_t * taken;   // [n]
    int32_t * others;  // [n]
    int8_t  * rounded; // [n_queries][d] r
};

}

// f(first, end) for runs of n rows whose sums are of 32 bits
template <typename F>
static void h2o_for_rows(int64_t n, const F & f) {
    for (int64_t i = 0; i < n; i += H2O_ROWS_OF_SUM) {
        f(i, std::min(n, i + H2O_ROWS_OF_SUM));
    }
}

// y added to x [n], and zeros left
static void h2o_move_sums(int32_t * y, int64_t n, int64_t * x) {
    for (int64_t i = 0; i < n; ++i) {
        x[i] += y[i];
        y[i] = 0;
    }
}

static void h2o_round_queries(const h2o_order_op & op, int64_t ih, int8_t * out) {
    float most = 0.0f;
    for (int64_t i = 0; i < op.n_queries; ++i) {
        const float * q = op.q_at(i, ih);
        for (int64_t j = 0; j < op.d; ++j) {
            const float x = fabsf(q[j]);
            most = x > most && x <= FLT_MAX ? x : most;
        }
    }
    int exponent;
    frexpf(most, &exponent);

    // in two steps, which a float has for any exponent
    const int   half  = (7 - exponent)/2;
    const float scale = ldexpf(1.0f, half);
    const float again = ldexpf(1.0f, 7 - exponent - half);

    for (int64_t i = 0; i < op.n_queries; ++i) {
        const float * q = op.q_at(i, ih);
        for (int64_t j = 0; j < op.d; ++j) {
            const float x = fabsf(q[j]) <= FLT_MAX ? q[j]*scale*again : 0.0f;

            // the lowest bits of the sum with a number whose own are zeros
            const float y = std::min(127.0f, std::max(-127.0f, x)) + (3 << 22);

            uint32_t bits;
            memcpy(&bits, &y, sizeof(bits));
            out[i*op.d + j] = (int8_t) bits;
        }
    }
}

static int64_t h2o_widest_channel(const h2o_order_op & op, const h2o_order_work & w, const int32_t * queries, int64_t n) {
    std::fill(w.sums,    w.sums    + op.d, 0);
    std::fill(w.squares, w.squares + op.d, 0);
    std::fill(w.part,    w.part    + op.d, 0);
    std::fill(w.part_2,  w.part_2  + op.d, 0);

    h2o_for_rows(n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int8_t * r = w.rounded + queries[i]*op.d;
            for (int64_t j = 0; j < op.d; ++j) {
                w.part  [j] += r[j];
                w.part_2[j] += r[j]*r[j];
            }
        }
        h2o_move_sums(w.part,   op.d, w.sums);
        h2o_move_sums(w.part_2, op.d, w.squares);
    });

    const auto width = [&](int64_t j) { return n*w.squares[j] - w.sums[j]*w.sums[j]; };

    int64_t res = 0;
    for (int64_t j = 1; j < op.d; ++j) {
        res = width(j) > width(res) ? j : res;
    }
    return res;
}

// into w.part: [d] of at most 8 bits
static void h2o_find_direction(const h2o_order_op & op, const h2o_order_work & w, const int32_t * queries, int64_t n) {
    const int64_t channel = h2o_widest_channel(op, w, queries, n);
    const int32_t mean    = (int32_t) (w.sums[channel]/n);

    std::fill(w.along, w.along + op.d, 0);

    h2o_for_rows(n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int8_t * r = w.rounded + queries[i]*op.d;
            const int32_t  x = r[channel] - mean;
            for (int64_t j = 0; j < op.d; ++j) {
                w.part[j] += x*r[j];
            }
        }
        h2o_move_sums(w.part, op.d, w.along);
    });

    int64_t most = 0;
    for (int64_t j = 0; j < op.d; ++j) {
        most = std::max<int64_t>(most, std::abs(w.along[j]));
    }
    int shift = 0;
    while (most >> shift > 127) {
        ++shift;
    }
    for (int64_t j = 0; j < op.d; ++j) {
        w.part[j] = (int32_t) (w.along[j] >> shift);
    }
}

// n queries, ascending, into parts of a block
static void h2o_split(const h2o_order_op & op, const h2o_order_work & w, int32_t * queries, int64_t n) {
    if (n <= GGML_H2O_BLOCK) {
        return;
    }
    h2o_find_direction(op, w, queries, n);

    for (int64_t i = 0; i < n; ++i) {
        const int8_t * r = w.rounded + queries[i]*op.d;

        int32_t x = 0;
        for (int64_t j = 0; j < op.d; ++j) {
            x += w.part[j]*r[j];
        }
        w.keys[i] = -x;
    }
    const int64_t n_first = GGML_H2O_BLOCK*((n + 2*GGML_H2O_BLOCK - 1)/(2*GGML_H2O_BLOCK));
    h2o_take_best(w.keys, n, n_first, w.taken);

    int64_t n_taken  = 0;
    int64_t n_others = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (n_taken < n_first && w.taken[n_taken] == i) {
            w.taken[n_taken++] = queries[i];
        } else {
            w.others[n_others++] = queries[i];
        }
    }
    std::copy(w.taken,  w.taken  + n_taken,  queries);
    std::copy(w.others, w.others + n_others, queries + n_taken);

    h2o_split(op, w, queries,           n_taken);
    h2o_split(op, w, queries + n_taken, n_others);
}

void h2o_forward_order(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_order_op   op(dst);
    const h2o_order_work w(op, params);

    for (int64_t ih = params->ith; ih < op.n_head; ih += params->nth) {
        int32_t * out = (int32_t *) ((char *) dst->data + ih*dst->nb[1]);

        std::iota(out, out + op.n_queries, 0);
        if (op.n_queries > GGML_H2O_BLOCK) {
            h2o_round_queries(op, ih, w.rounded);
            h2o_split(op, w, out, op.n_queries);
        }
    }
}

size_t h2o_order_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_order_op(dst).size_thread() + 64;
}
