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
    return GGML_PAD(n, H2O_ROW_STEP);
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
    static_assert(H2O_ROW_STEP % H2O_VEC_N == 0, "a step holds whole vectors");

    constexpr int n_vec = H2O_ROW_STEP/H2O_VEC_N;

    const h2o_vec shift = h2o_vec_set1(-max);

    h2o_vec sum[n_vec];
    for (int j = 0; j < n_vec; ++j) {
        sum[j] = h2o_vec_zero();
    }
    for (int64_t i = 0; i < n; i += H2O_ROW_STEP) {
        for (int j = 0; j < n_vec; ++j) {
            float * at = x + i + j*H2O_VEC_N;

            const h2o_vec y = h2o_vec_exp(h2o_vec_add(h2o_vec_load(at), shift));
            h2o_vec_store(at, y);
            sum[j] = h2o_vec_add(sum[j], y);
        }
    }

    float lanes[H2O_ROW_STEP];
    for (int j = 0; j < n_vec; ++j) {
        h2o_vec_store(lanes + j*H2O_VEC_N, sum[j]);
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
