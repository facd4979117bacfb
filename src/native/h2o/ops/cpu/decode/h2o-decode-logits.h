// What happens to logits between the two products, beside exp and maxima (h2o-softmax.h, h2o-columns.h).

#pragma once

#include "h2o-decode-mask.h"
#include "h2o-softmax.h"
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
    for (; i + GGML_F32_EPR <= n; i += GGML_F32_EPR) {
        const GGML_F32_VEC y = ggml_v_expf(GGML_F32_VEC_MUL(GGML_F32_VEC_LOAD(x + i), GGML_F32_VEC_SET1(2.0f/cap)));
        const GGML_F32_VEC z = h2o_vec_div(GGML_F32_VEC_SET1(-2.0f*cap), GGML_F32_VEC_ADD(y, GGML_F32_VEC_SET1(1.0f)));
        GGML_F32_VEC_STORE(x + i, GGML_F32_VEC_ADD(z, GGML_F32_VEC_SET1(cap)));
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

// The logits of a row of a KV head over the keys that are seen become weights, with zeros up to n_pad, in whole steps. Its
// max and sum move on; what was summed before is to be scaled by what is returned.
static inline float h2o_weigh_row(
        const h2o_decode_op & op, const h2o_decode_seen & seen, int64_t row, float * x, int64_t n_pad, float & max, float & sum) {
    if (op.p.cap > 0.0f) {
        h2o_cap_logits(x, n_pad, op.p.cap);
    }
    if (!seen.is_plain) {
        h2o_mask_logits(x, seen.of_token(row/op.n_group), seen.n);
    }
    std::fill(x + seen.n, x + n_pad, -INFINITY);

    const float before = max;

    max = std::max(before, h2o_row_max(x, n_pad));

    const float scale = max > before ? expf(before - max) : 1.0f;

    sum = sum*scale + h2o_row_exp(x, n_pad, h2o_shift_of(max));
    return scale;
}

// weights of cells, one after the other, go to where the cells lie: cells [n] ascending, x [n_rows][ld]
static inline void h2o_spread_weights(float * x, int64_t ld, int64_t n_rows, const int32_t * cells, int64_t n) {
    if (cells[n - 1] - cells[0] == n - 1) {
        return;
    }
    for (int64_t r = 0; r < n_rows; ++r) {
        float * row = x + r*ld;

        int64_t end = cells[n - 1] + 1 - cells[0];
        for (int64_t i = n - 1; i >= 0; --i) {
            const int64_t to = cells[i] - cells[0];
            const float   w  = row[i];

            std::fill(row + to, row + end, 0.0f);
            row[to] = w;
            end = to;
        }
    }
}
