// What happens to logits between the two products, beside exp and maxima (h2o-columns.h).

#pragma once

#include "h2o-decode-mask.h"
#include "h2o-decode-vec.h"

#include "h2o-columns.h"
#include "h2o-vec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

// what a maximum takes from logits: a row that has seen nothing yet has none
static inline float h2o_shift_of(float max) {
    return max == -INFINITY ? 0.0f : max;
}

// x [n] = cap*tanh(x/cap)
static inline void h2o_cap_logits(float * x, int64_t n, float cap) {
    int64_t i = 0;
#ifdef H2O_HAS_VEC
    // tanh(y) = 1 - 2/(e^2y + 1)
    for (; i + H2O_VEC_N <= n; i += H2O_VEC_N) {
        const h2o_vec y = h2o_vec_exp(h2o_vec_mul(h2o_vec_load(x + i), h2o_vec_set1(2.0f/cap)));
        const h2o_vec z = h2o_vec_div(h2o_vec_set1(-2.0f*cap), h2o_vec_add(y, h2o_vec_set1(1.0f)));
        h2o_vec_store(x + i, h2o_vec_add(z, h2o_vec_set1(cap)));
    }
#endif
    for (; i < n; ++i) {
        x[i] = cap*tanhf(x[i]/cap);
    }
}

// x [n] += mask, also where x is not a number and the key is hidden
static inline void h2o_mask_logits(float * x, const float * mask, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        x[i] = mask[i] == -INFINITY ? -INFINITY : x[i] + mask[i];
    }
}

// the cap, and the mask of rows row0.., whose logits are columns: x [seen.n][ld]
static inline void h2o_limit_columns(
        const h2o_decode_op & op, const h2o_decode_seen & seen, int64_t row0, int64_t n_rows, float * x, int64_t ld) {
    if (op.p.cap > 0.0f) {
        h2o_cap_logits(x, seen.n*ld, op.p.cap);
    }
    for (int64_t r = 0; r < n_rows && !seen.is_plain; ++r) {
        const float * mask = seen.of_token((row0 + r)/op.n_group);

        for (int64_t i = 0; i < seen.n; ++i) {
            h2o_mask_logits(x + i*ld + r, mask + i, 1);
        }
    }
}

// Logits x [n][h2o_step_pad(n_rows)] of a step become weights; behind them is room of H2O_COL_STEP. max and sum of its rows move on:
// what was summed before is to be scaled by `scale` [n_rows].
static inline void h2o_weigh_step(float * x, int64_t n, int64_t n_rows, float * max, float * sum, float * scale) {
    const int64_t ld    = h2o_step_pad(n_rows);
    const int64_t n_vec = (n*ld + H2O_COL_STEP - 1)/H2O_COL_STEP;

    std::fill(x + n*ld, x + n_vec*H2O_COL_STEP, -INFINITY);

    // some keys side by side: the columns of a row are ld apart
    float most [H2O_COL_STEP];
    float shift[H2O_COL_STEP] = {};
    float part [H2O_COL_STEP] = {};

    std::fill(most, most + H2O_COL_STEP, -INFINITY);
    h2o_columns_max(x, n_vec, H2O_COL_STEP, most);

    for (int64_t r = 0; r < n_rows; ++r) {
        const float before = max[r];

        for (int64_t c = r; c < H2O_COL_STEP; c += ld) {
            max[r] = std::max(max[r], most[c]);
        }
        for (int64_t c = r; c < H2O_COL_STEP; c += ld) {
            shift[c] = -h2o_shift_of(max[r]);
        }
        scale[r] = max[r] > before ? expf(before - max[r]) : 1.0f;
    }
    h2o_columns_exp(x, n_vec, H2O_COL_STEP, shift, part);

    for (int64_t r = 0; r < n_rows; ++r) {
        sum[r] *= scale[r];
        for (int64_t c = r; c < H2O_COL_STEP; c += ld) {
            sum[r] += part[c];
        }
    }
}
