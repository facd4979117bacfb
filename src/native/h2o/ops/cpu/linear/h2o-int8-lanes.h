// Vectors of 32-bit lanes, as wide as the processor has them, for products of 8-bit values.

#pragma once

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define H2O_HAS_INT8

#include <immintrin.h>

#include <cstdint>

#if defined(__AVX512VNNI__) || (defined(__AVXVNNI__) && !defined(__AVX512F__))
#define H2O_HAS_VNNI
#endif

struct h2o_int8_lanes {
#if defined(__AVX512F__) && defined(__AVX512BW__)
    using ints   = __m512i;
    using floats = __m512;

    static ints   load  (const void * p)                { return _mm512_loadu_si512(p); }
    static ints   set1  (int32_t x)                     { return _mm512_set1_epi32(x); }
    static ints   ones16()                              { return _mm512_set1_epi16(1); }
    static ints   add16 (ints a, ints b)                { return _mm512_add_epi16(a, b); }
    static ints   add32 (ints a, ints b)                { return _mm512_add_epi32(a, b); }
    static ints   madd16(ints a, ints b)                { return _mm512_madd_epi16(a, b); }
    static ints   madd8 (ints u, ints s)                { return _mm512_maddubs_epi16(u, s); }
    static ints   abs8  (ints x)                        { return _mm512_abs_epi8(x); }
    static ints   sign8 (ints x, ints s)                { return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(s), zero(), x); }
    static ints   zero  ()                              { return _mm512_setzero_si512(); }
    static floats zeros ()                              { return _mm512_setzero_ps(); }
    static floats loadf (const float * p)               { return _mm512_loadu_ps(p); }
    static floats set1f (float x)                       { return _mm512_set1_ps(x); }
    static floats cast  (ints x)                        { return _mm512_castsi512_ps(x); }
    static floats to_f32(ints x)                        { return _mm512_cvtepi32_ps(x); }
    static floats mul   (floats a, floats b)            { return _mm512_mul_ps(a, b); }
    static floats fma   (floats a, floats b, floats c)  { return _mm512_fmadd_ps(a, b, c); }
    static void   store (float * p, floats x)           { _mm512_storeu_ps(p, x); }
#if defined(H2O_HAS_VNNI) && defined(_MSC_VER)
    static ints   dot8  (ints acc, ints u, ints s)      { return _mm512_dpbusd_epi32(acc, u, s); }
#elif defined(H2O_HAS_VNNI)
    // GCC moves the sums of the intrinsic from register to register; both dialects, as -masm wants
    static ints   dot8  (ints acc, ints u, ints s)      { asm("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(acc) : "v"(u), "v"(s)); return acc; }
#endif
#else
    using ints   = __m256i;
    using floats = __m256;

    static ints   load  (const void * p)                { return _mm256_loadu_si256((const __m256i *) p); }
    static ints   set1  (int32_t x)                     { return _mm256_set1_epi32(x); }
    static ints   ones16()                              { return _mm256_set1_epi16(1); }
    static ints   add16 (ints a, ints b)                { return _mm256_add_epi16(a, b); }
    static ints   add32 (ints a, ints b)                { return _mm256_add_epi32(a, b); }
    static ints   madd16(ints a, ints b)                { return _mm256_madd_epi16(a, b); }
    static ints   madd8 (ints u, ints s)                { return _mm256_maddubs_epi16(u, s); }
    static ints   abs8  (ints x)                        { return _mm256_abs_epi8(x); }
    static ints   sign8 (ints x, ints s)                { return _mm256_sign_epi8(x, s); }
    static floats zeros ()                              { return _mm256_setzero_ps(); }
    static floats loadf (const float * p)               { return _mm256_loadu_ps(p); }
    static floats set1f (float x)                       { return _mm256_set1_ps(x); }
    static floats cast  (ints x)                        { return _mm256_castsi256_ps(x); }
    static floats to_f32(ints x)                        { return _mm256_cvtepi32_ps(x); }
    static floats mul   (floats a, floats b)            { return _mm256_mul_ps(a, b); }
    static floats fma   (floats a, floats b, floats c)  { return _mm256_fmadd_ps(a, b, c); }
    static void   store (float * p, floats x)           { _mm256_storeu_ps(p, x); }
#if defined(H2O_HAS_VNNI)
    static ints   dot8  (ints acc, ints u, ints s)      { return _mm256_dpbusd_avx_epi32(acc, u, s); }
#endif
#endif

    static constexpr int N = sizeof(ints)/4;
};

#endif
