// Powers of two of vectors, for weights that are rounded to 16 bits.

#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <immintrin.h>

static constexpr float H2O_LOG2E = 1.44269504f;

// relative error 2e-7; that of -inf is 0
static inline __m512 h2o_exp2(__m512 x) {
    const __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF); // what floor leaves, 0 of -inf

    __m512 y = _mm512_set1_ps(0.00187757467f);
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(0.00898934493f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(0.055826314f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(0.240153618f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(0.693153073f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(0.999999925f));
    return _mm512_scalef_ps(y, x); // by two to the floor
}

#endif
