// The row operations of the fused attention between its two matrix products.

#pragma once

#include "h2o-vec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

static inline float h2o_sigmoid(float x) {
    return 1.0f/(1.0f + expf(-x));
}

// a row is worked on in steps of so many values: callers have room for whole steps
static constexpr int H2O_ROW_STEP = 32;

static inline int64_t h2o_row_pad(int64_t n) {
    return (n + H2O_ROW_STEP - 1)/H2O_ROW_STEP*H2O_ROW_STEP;
}

// of x [n], whole steps; NaN does not count
static inline float h2o_row_max(const float * x, int64_t n) {
    // lanes of their own, as a compiler must not reorder a single chain; so many that it vectorizes instead of
    // unrolling
    float max[H2O_ROW_STEP];
    std::fill(max, max + H2O_ROW_STEP, -INFINITY);

    for (int64_t i = 0; i < n; i += H2O_ROW_STEP) {
        for (int j = 0; j < H2O_ROW_STEP; ++j) {
            max[j] = x[i + j] > max[j] ? x[i + j] : max[j];
        }
    }
    return *std::max_element(max, max + H2O_ROW_STEP);
}

// x [n] = exp(x - max), whole steps; returns the sum
static inline float h2o_row_exp(float * x, int64_t n, float max) {
#ifdef H2O_HAS_VEC
    static_assert(H2O_ROW_STEP % GGML_F32_EPR == 0, "a step holds whole vectors");

    constexpr int n_vec = H2O_ROW_STEP/GGML_F32_EPR;

    const GGML_F32_VEC shift = GGML_F32_VEC_SET1(-max);

    GGML_F32_VEC sum[n_vec];
    for (int j = 0; j < n_vec; ++j) {
        sum[j] = GGML_F32_VEC_ZERO;
    }
    for (int64_t i = 0; i < n; i += H2O_ROW_STEP) {
        for (int j = 0; j < n_vec; ++j) {
            float * at = x + i + j*GGML_F32_EPR;

            const GGML_F32_VEC y = ggml_v_expf(GGML_F32_VEC_ADD(GGML_F32_VEC_LOAD(at), shift));
            GGML_F32_VEC_STORE(at, y);
            sum[j] = GGML_F32_VEC_ADD(sum[j], y);
        }
    }

    float lanes[H2O_ROW_STEP];
    for (int j = 0; j < n_vec; ++j) {
        GGML_F32_VEC_STORE(lanes + j*GGML_F32_EPR, sum[j]);
    }
    float res = 0.0f;
    for (const float lane : lanes) {
        res += lane;
    }
    return res;
#else
    return ggml_vec_soft_max_f32(n, x, x, max);
#endif
}
