// What ggml's vector wrappers do not have, where ggml_v_expf takes their vectors: maxima.

#pragma once

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

#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(__ARM_FEATURE_SVE)
#define H2O_HAS_VEC

static inline GGML_F32_VEC h2o_vec_max(GGML_F32_VEC x, GGML_F32_VEC y) {
    return vmaxnmq_f32(x, y);
}

static inline float h2o_vec_reduce_max(GGML_F32_VEC x) {
    return vmaxnmvq_f32(x);
}

#endif
