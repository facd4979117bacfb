// Products of h2o-gemm.h for scores: values rounded to 16 bits, added up in 32 bits. Every row has a scale of its own,
// by its length, so that no product of two rows overflows. The error of a logit is a tenth of BF16's.

#pragma once

#include "h2o-gemm.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// where this takes less time than F32: two multiply-adds per lane in an instruction or two; AVX-512 needs VNNI for it
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || (defined(__AVX2__) && !defined(__AVX512F__))
#define H2O_HAS_INT16

// H2O_INT16=0: as if it did not
static inline bool h2o_int16_available() {
    static const bool res = [] {
        const char * H2O_INT16 = getenv("H2O_INT16");
        return !H2O_INT16 || atoi(H2O_INT16) != 0;
    }();
    return res;
}

// values that a row holds are a multiple of this
static constexpr int64_t H2O_INT16_STEP = 16;

// an element is two values of a row
struct h2o_gemm_int16 {
    using value = int32_t;

#if defined(__AVX512VNNI__)
    using vec = __m512i;

    static vec  zero()                      { return _mm512_setzero_si512(); }
    static vec  load(const value * x)       { return _mm512_loadu_si512(x); }
    static vec  set1(value x)               { return _mm512_set1_epi32(x); }
    static vec  madd(vec acc, vec b, vec a) { return _mm512_dpwssd_epi32(acc, b, a); }
    static void store(value * x, vec y)     { _mm512_storeu_si512(x, y); }
#else
    using vec = __m256i;

    static vec  zero()                  { return _mm256_setzero_si256(); }
    static vec  load(const value * x)   { return _mm256_loadu_si256((const __m256i *) x); }
    static vec  set1(value x)           { return _mm256_set1_epi32(x); }
    static void store(value * x, vec y) { _mm256_storeu_si256((__m256i *) x, y); }

    static vec madd(vec acc, vec b, vec a) {
#if defined(__AVXVNNI__)
        return _mm256_dpwssd_avx_epi32(acc, b, a);
#else
        return _mm256_add_epi32(acc, _mm256_madd_epi16(b, a));
#endif
    }
#endif
};

static_assert(sizeof(h2o_gemm_int16::vec) == sizeof(GGML_F32_VEC), "as many columns as in F32");

// the value nearest to x, which is at most 2^15: the lowest bits of the sum with a number whose own are zeros
static inline uint16_t h2o_nearest_int16(float x) {
    const float y = x + (3 << 22);

    uint32_t bits;
    memcpy(&bits, &y, sizeof(bits));
    return (uint16_t) bits;
}

// A row of n values, times what is returned; NaN if one of them is. An element pairs values that are n/2 apart.
static inline float h2o_round_int16(const float * x, int64_t n, int32_t * out) {
    float lanes[H2O_INT16_STEP] = {};
    for (int64_t i = 0; i < n; i += H2O_INT16_STEP) {
        for (int j = 0; j < H2O_INT16_STEP; ++j) {
            lanes[j] += x[i + j]*x[i + j];
        }
    }
    float square = 0.0f;
    for (const float lane : lanes) {
        square += lane;
    }

    const float length = sqrtf(square);
    const float scale  = length > 0.0f ? INT16_MAX/length : 0.0f;

    for (int64_t i = 0; i < n/2; ++i) {
        out[i] = h2o_nearest_int16(x[i]*scale) | (uint32_t) h2o_nearest_int16(x[n/2 + i]*scale) << 16;
    }
    return length/INT16_MAX;
}

#endif
