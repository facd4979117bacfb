// Vectors of F32 as the sum of two BF16 each. A double word holds the same part of two values.

#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BF16__)

#include <immintrin.h>

// x as BF16, widened: cut off, which leaves up to twice as much as rounding and takes one instruction
static inline __m512 h2o_cut(__m512 x) {
    return (__m512) _mm512_and_si512((__m512i) x, _mm512_set1_epi32(0xffff0000));
}

// rounded, halves away from zero; NaN may become a number
static inline __m512 h2o_half_up(__m512 x) {
    return h2o_cut((__m512) _mm512_add_epi32((__m512i) x, _mm512_set1_epi32(0x8000)));
}

// rounded, NaN stays
static inline __m512 h2o_nearest(__m512 x) {
    return (__m512) _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i) _mm512_cvtneps_pbh(x)), 16);
}

// the upper halves of a and b
static inline __m512i h2o_pair(__m512 a, __m512 b) {
    return _mm512_or_si512(_mm512_srli_epi32((__m512i) a, 16), (__m512i) h2o_cut(b));
}

// what upper_a leaves of a, and upper_b of b
static inline __m512i h2o_pair_rest(__m512 a, __m512 upper_a, __m512 b, __m512 upper_b) {
    return h2o_pair(h2o_half_up(_mm512_sub_ps(a, upper_a)), h2o_half_up(_mm512_sub_ps(b, upper_b)));
}

#endif
