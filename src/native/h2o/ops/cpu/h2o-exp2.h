// Powers of two of vectors, for weights that are rounded to 16 bits.

#pragma once

#include "h2o-vec.h"

#if defined(H2O_HAS_VEC) && (defined(__AVX512F__) || defined(__AVX2__))

static constexpr float H2O_LOG2E = 1.44269504f;

// of numbers from 0 to 1; relative error 2e-7
static inline h2o_vec h2o_exp2_of_part(h2o_vec f) {
    h2o_vec y = h2o_vec_set1(0.00187757467f);
    y = h2o_vec_fma(h2o_vec_set1(0.00898934493f), y, f);
    y = h2o_vec_fma(h2o_vec_set1(0.055826314f),   y, f);
    y = h2o_vec_fma(h2o_vec_set1(0.240153618f),   y, f);
    y = h2o_vec_fma(h2o_vec_set1(0.693153073f),   y, f);
    return h2o_vec_fma(h2o_vec_set1(0.999999925f), y, f);
}

// that of -inf is 0; with AVX2, so are those below -127, and none is above 127
static inline h2o_vec h2o_exp2(h2o_vec x) {
#if defined(__AVX512F__)
    const __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF); // what floor leaves, 0 of -inf

    return _mm512_scalef_ps(h2o_exp2_of_part(f), x); // by two to the floor
#else
    const __m256  least = _mm256_max_ps(_mm256_set1_ps(-127.0f), x); // NaN stays
    const __m256  whole = _mm256_floor_ps(least);
    const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127)), 23);

    return _mm256_mul_ps(h2o_exp2_of_part(_mm256_sub_ps(least, whole)), _mm256_castsi256_ps(power));
#endif
}

#endif
