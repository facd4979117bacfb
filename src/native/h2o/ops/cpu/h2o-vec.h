// What ggml's vector wrappers do not have, where ggml_v_expf takes their vectors: maxima, sums, quotients, comparisons.

#pragma once

#include "h2o-inline.h"

#include "simd-mappings.h"
#include "vec.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define H2O_HAS_VEC

// NaN in x does not count
static inline GGML_F32_VEC h2o_vec_max(GGML_F32_VEC x, GGML_F32_VEC y) {
    return _mm512_max_ps(x, y);
}

static inline float h2o_vec_reduce_max(GGML_F32_VEC x) {
    return _mm512_reduce_max_ps(x);
}

static inline GGML_F32_VEC h2o_vec_div(GGML_F32_VEC x, GGML_F32_VEC y) {
    return _mm512_div_ps(x, y);
}

// What f, of two vectors, makes of all values of each of sixteen vectors, which are changed: a sum, a maximum
template <typename F>
static H2O_INLINE __m512 h2o_vec_of_each(__m512 * x, F f) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) { // halves of vectors k and k + 8
        x[k] = f(_mm512_shuffle_f32x4(x[k], x[k + 8], 0x44), _mm512_shuffle_f32x4(x[k], x[k + 8], 0xee));
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) { // quarters of k, k + 4, k + 8 and k + 12
        x[k] = f(_mm512_shuffle_f32x4(x[k], x[k + 4], 0x88), _mm512_shuffle_f32x4(x[k], x[k + 4], 0xdd));
    }
    const __m512 a = f(_mm512_unpacklo_ps(x[0], x[1]), _mm512_unpackhi_ps(x[0], x[1]));
    const __m512 b = f(_mm512_unpacklo_ps(x[2], x[3]), _mm512_unpackhi_ps(x[2], x[3]));

    // a: 0 1 0 1 of each quarter, b: 2 3 2 3
    const __m512 y = f(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));

    // quarters hold 0, 8, 4, 12 and the three behind each
    return _mm512_shuffle_f32x4(y, y, 0xd8);
}

#elif !defined(__AVX512F__) && defined(__AVX2__) && defined(__FMA__)
#define H2O_HAS_VEC

static inline GGML_F32_VEC h2o_vec_max(GGML_F32_VEC x, GGML_F32_VEC y) {
    return _mm256_max_ps(x, y);
}

static inline float h2o_vec_reduce_max(GGML_F32_VEC x) {
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}

static inline float h2o_vec_reduce_add(GGML_F32_VEC x) {
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

static inline GGML_F32_VEC h2o_vec_div(GGML_F32_VEC x, GGML_F32_VEC y) {
    return _mm256_div_ps(x, y);
}

#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(__ARM_FEATURE_SVE)
#define H2O_HAS_VEC

static inline GGML_F32_VEC h2o_vec_max(GGML_F32_VEC x, GGML_F32_VEC y) {
    return vmaxnmq_f32(x, y);
}

static inline float h2o_vec_reduce_max(GGML_F32_VEC x) {
    return vmaxnmvq_f32(x);
}

static inline GGML_F32_VEC h2o_vec_div(GGML_F32_VEC x, GGML_F32_VEC y) {
    return vdivq_f32(x, y);
}

#endif
