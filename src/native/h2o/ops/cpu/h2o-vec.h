// Vectors of 32-bit floats. With H2O_HAS_SIMD there are products and sums of them, with H2O_HAS_VEC the rest, too: maxima,
// quotients, powers.

#pragma once

#include "h2o-inline.h"

#include "simd-mappings.h"
#include "vec.h"

// bytes of a cache line: a vector that straddles two costs as much as two
static constexpr size_t H2O_ALIGN = 64;

#if defined(__ARM_NEON) && defined(__aarch64__)
#define H2O_HAS_SIMD

// NEON where ggml's wrappers are of SVE, too: vectors of no fixed size cannot be accumulators in an array
using h2o_vec = float32x4_t;

static constexpr int H2O_VEC_N = 4; // values

static inline h2o_vec h2o_vec_zero()                                 { return vdupq_n_f32(0.0f); }
static inline h2o_vec h2o_vec_set1(float x)                          { return vdupq_n_f32(x); }
static inline h2o_vec h2o_vec_load(const float * x)                  { return vld1q_f32(x); }
static inline void    h2o_vec_store(float * x, h2o_vec y)            { vst1q_f32(x, y); }
static inline h2o_vec h2o_vec_add(h2o_vec x, h2o_vec y)              { return vaddq_f32(x, y); }
static inline h2o_vec h2o_vec_mul(h2o_vec x, h2o_vec y)              { return vmulq_f32(x, y); }
static inline h2o_vec h2o_vec_fma(h2o_vec sum, h2o_vec x, h2o_vec y) { return vfmaq_f32(sum, x, y); }

#elif defined(GGML_SIMD) && !defined(__ARM_FEATURE_SVE) && !defined(__riscv_v_intrinsic)
#define H2O_HAS_SIMD

using h2o_vec = GGML_F32_VEC;

static constexpr int H2O_VEC_N = GGML_F32_EPR;

static inline h2o_vec h2o_vec_zero()                                 { return GGML_F32_VEC_ZERO; }
static inline h2o_vec h2o_vec_set1(float x)                          { return GGML_F32_VEC_SET1(x); }
static inline h2o_vec h2o_vec_load(const float * x)                  { return GGML_F32_VEC_LOAD(x); }
static inline void    h2o_vec_store(float * x, h2o_vec y)            { GGML_F32_VEC_STORE(x, y); }
static inline h2o_vec h2o_vec_add(h2o_vec x, h2o_vec y)              { return GGML_F32_VEC_ADD(x, y); }
static inline h2o_vec h2o_vec_mul(h2o_vec x, h2o_vec y)              { return GGML_F32_VEC_MUL(x, y); }
static inline h2o_vec h2o_vec_fma(h2o_vec sum, h2o_vec x, h2o_vec y) { return GGML_F32_VEC_FMA(sum, x, y); }

#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define H2O_HAS_VEC

// NaN in x does not count
static inline h2o_vec h2o_vec_max(h2o_vec x, h2o_vec y) {
    return _mm512_max_ps(x, y);
}

static inline h2o_vec h2o_vec_abs(h2o_vec x) {
    return _mm512_abs_ps(x);
}

static inline float h2o_vec_reduce_max(h2o_vec x) {
    return _mm512_reduce_max_ps(x);
}

static inline float h2o_vec_reduce_add(h2o_vec x) {
    return _mm512_reduce_add_ps(x);
}

static inline h2o_vec h2o_vec_div(h2o_vec x, h2o_vec y) {
    return _mm512_div_ps(x, y);
}

static inline h2o_vec h2o_vec_exp(h2o_vec x) {
    return ggml_v_expf(x);
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

static inline h2o_vec h2o_vec_max(h2o_vec x, h2o_vec y) {
    return _mm256_max_ps(x, y);
}

static inline h2o_vec h2o_vec_abs(h2o_vec x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

static inline float h2o_vec_reduce_max(h2o_vec x) {
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}

static inline float h2o_vec_reduce_add(h2o_vec x) {
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

static inline h2o_vec h2o_vec_div(h2o_vec x, h2o_vec y) {
    return _mm256_div_ps(x, y);
}

static inline h2o_vec h2o_vec_exp(h2o_vec x) {
    return ggml_v_expf(x);
}

#elif defined(__ARM_NEON) && defined(__aarch64__)
#define H2O_HAS_VEC

static inline h2o_vec h2o_vec_max(h2o_vec x, h2o_vec y) {
    return vmaxnmq_f32(x, y);
}

static inline float h2o_vec_reduce_max(h2o_vec x) {
    return vmaxnmvq_f32(x);
}

static inline h2o_vec h2o_vec_div(h2o_vec x, h2o_vec y) {
    return vdivq_f32(x, y);
}

// relative error 1e-7; those of -inf and inf are 0 and inf
static inline h2o_vec h2o_vec_exp(h2o_vec x) {
    const h2o_vec y = vminq_f32(vmaxq_f32(x, vdupq_n_f32(-104.0f)), vdupq_n_f32(89.0f)); // NaN stays
    const h2o_vec n = vrndnq_f32(vmulq_n_f32(y, 1.44269504f));

    // what is left of y, by log(2) in two parts: the first has few bits, so its product with n is exact
    h2o_vec f = vfmsq_f32(y, n, vdupq_n_f32(0.693359375f));
    f = vfmaq_f32(f, n, vdupq_n_f32(2.12194440e-4f));

    h2o_vec p = vdupq_n_f32(0.00138146f);
    p = vfmaq_f32(vdupq_n_f32(0.00836872f), p, f);
    p = vfmaq_f32(vdupq_n_f32(0.04166839f), p, f);
    p = vfmaq_f32(vdupq_n_f32(0.16666521f), p, f);
    p = vfmaq_f32(vdupq_n_f32(0.49999993f), p, f);
    p = vaddq_f32(vfmaq_f32(f, p, vmulq_f32(f, f)), vdupq_n_f32(1.0f));

    // by 2^n in two steps, each of which is a number
    const int32x4_t k = vcvtq_s32_f32(n);
    const int32x4_t h = vshrq_n_s32(k, 1);

    const auto power = [](int32x4_t e) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(e, vdupq_n_s32(127)), 23)); };
    return vmulq_f32(vmulq_f32(p, power(h)), power(vsubq_s32(k, h)));
}

#endif
