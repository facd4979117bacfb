// Vectors of 32-bit lanes, as wide as the processor has them, for products of 8-bit and 16-bit values and for what makes them
// of weights and activations.

#pragma once

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define H2O_HAS_INT8

#include "h2o-inline.h"

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
    static ints   set8  (char x)                        { return _mm512_set1_epi8(x); }
    static ints   ones16()                              { return _mm512_set1_epi16(1); }
    static ints   add16 (ints a, ints b)                { return _mm512_add_epi16(a, b); }
    static ints   add32 (ints a, ints b)                { return _mm512_add_epi32(a, b); }
    static ints   madd16(ints a, ints b)                { return _mm512_madd_epi16(a, b); }
    static ints   madd8 (ints u, ints s)                { return _mm512_maddubs_epi16(u, s); }
    static ints   abs8  (ints x)                        { return _mm512_abs_epi8(x); }
    static ints   sign8 (ints x, ints s)                { return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(s), zero(), x); }
    static ints   zero  ()                              { return _mm512_setzero_si512(); }
    static ints   both  (ints a, ints b)                { return _mm512_and_si512(a, b); }
    static ints   either(ints a, ints b)                { return _mm512_or_si512(a, b); }
    static ints   differ(ints a, ints b)                { return _mm512_xor_si512(a, b); }
    static ints   add8  (ints a, ints b)                { return _mm512_add_epi8(a, b); }
    static ints   look8 (ints table, ints x)            { return _mm512_shuffle_epi8(table, x); }
    template <int N> static ints right       (ints x)   { return _mm512_srli_epi32(x, N); }
    template <int N> static ints left        (ints x)   { return _mm512_slli_epi32(x, N); }
    template <int N> static ints signed_right(ints x)   { return _mm512_srai_epi32(x, N); }
    static ints   spread(__m128i x)                     { return _mm512_broadcast_i32x4(x); }
    static ints   widen8(__m128i x)                     { return _mm512_cvtepu8_epi32(x); }
    static ints   low32 (ints a, ints b)                { return _mm512_unpacklo_epi32(a, b); }
    static ints   high32(ints a, ints b)                { return _mm512_unpackhi_epi32(a, b); }
    static ints   low64 (ints a, ints b)                { return _mm512_unpacklo_epi64(a, b); }
    static ints   high64(ints a, ints b)                { return _mm512_unpackhi_epi64(a, b); }
    static floats f16   (ints x)                        { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }

    // of eight halves each from lane 0, 8
    template <typename F>
    static floats halves(const F & eight) {
        return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(eight(0)), eight(8), 1));
    }

    // of four lanes each from lane 0, 4, 8, 12
    template <typename F>
    static ints join(const F & four) {
        return _mm512_inserti32x4(_mm512_inserti32x4(_mm512_inserti32x4(
            _mm512_castsi128_si512(four(0)), four(4), 1), four(8), 2), four(12), 3);
    }

    // lanes of even and of odd number, of a and then of b
    static void part(ints a, ints b, ints & even, ints & odd) {
        const __m512i at = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        even = _mm512_permutex2var_epi32(a, at, b);
        odd  = _mm512_permutex2var_epi32(a, _mm512_add_epi32(at, _mm512_set1_epi32(1)), b);
    }
    static floats zeros ()                              { return _mm512_setzero_ps(); }
    static floats loadf (const float * p)               { return _mm512_loadu_ps(p); }
    static floats set1f (float x)                       { return _mm512_set1_ps(x); }
    static floats cast  (ints x)                        { return _mm512_castsi512_ps(x); }
    static floats to_f32(ints x)                        { return _mm512_cvtepi32_ps(x); }
    static floats mul   (floats a, floats b)            { return _mm512_mul_ps(a, b); }
    static floats fma   (floats a, floats b, floats c)  { return _mm512_fmadd_ps(a, b, c); }
    static void   store (float * p, floats x)           { _mm512_storeu_ps(p, x); }
    static void   store (uint8_t * p, ints x)           { _mm512_storeu_si512(p, x); }
    static ints   round (floats x)                      { return _mm512_cvtps_epi32(x); }
    static ints   widen16(const int16_t * p)            { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) p)); }
    static void   store16(int16_t * p, ints x)          { _mm256_storeu_si256((__m256i *) p, _mm512_cvtepi32_epi16(x)); }
    static void   store  (int16_t * p, ints x)          { _mm512_storeu_si512(p, x); }

    // the lower halves of lanes, side by side
    static ints   pair16(ints a, ints b)                { return _mm512_mask_blend_epi16(0xaaaaaaaa, a, _mm512_slli_epi32(b, 16)); }
#if defined(H2O_HAS_VNNI) && !defined(H2O_HAS_ASM)
    static ints   dot8  (ints acc, ints u, ints s)      { return _mm512_dpbusd_epi32(acc, u, s); }
    static ints   dot16 (ints acc, ints a, ints b)      { return _mm512_dpwssd_epi32(acc, a, b); }
#elif defined(H2O_HAS_VNNI)
    // GCC moves the sums of the intrinsics from register to register; both dialects, as -masm wants
    static ints   dot8  (ints acc, ints u, ints s)      { asm("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(acc) : "v"(u), "v"(s)); return acc; }
    static ints   dot16 (ints acc, ints a, ints b)      { asm("vpdpwssd {%2, %1, %0|%0, %1, %2}" : "+v"(acc) : "v"(a), "v"(b)); return acc; }
#endif
#else
    using ints   = __m256i;
    using floats = __m256;

    static ints   load  (const void * p)                { return _mm256_loadu_si256((const __m256i *) p); }
    static ints   set1  (int32_t x)                     { return _mm256_set1_epi32(x); }
    static ints   set8  (char x)                        { return _mm256_set1_epi8(x); }
    static ints   ones16()                              { return _mm256_set1_epi16(1); }
    static ints   add16 (ints a, ints b)                { return _mm256_add_epi16(a, b); }
    static ints   add32 (ints a, ints b)                { return _mm256_add_epi32(a, b); }
    static ints   madd16(ints a, ints b)                { return _mm256_madd_epi16(a, b); }
    static ints   madd8 (ints u, ints s)                { return _mm256_maddubs_epi16(u, s); }
    static ints   abs8  (ints x)                        { return _mm256_abs_epi8(x); }
    static ints   sign8 (ints x, ints s)                { return _mm256_sign_epi8(x, s); }
    static ints   both  (ints a, ints b)                { return _mm256_and_si256(a, b); }
    static ints   either(ints a, ints b)                { return _mm256_or_si256(a, b); }
    static ints   differ(ints a, ints b)                { return _mm256_xor_si256(a, b); }
    static ints   add8  (ints a, ints b)                { return _mm256_add_epi8(a, b); }
    static ints   look8 (ints table, ints x)            { return _mm256_shuffle_epi8(table, x); }
    template <int N> static ints right       (ints x)   { return _mm256_srli_epi32(x, N); }
    template <int N> static ints left        (ints x)   { return _mm256_slli_epi32(x, N); }
    template <int N> static ints signed_right(ints x)   { return _mm256_srai_epi32(x, N); }
    static ints   spread(__m128i x)                     { return _mm256_broadcastsi128_si256(x); }
    static ints   widen8(__m128i x)                     { return _mm256_cvtepu8_epi32(x); }
    static ints   low32 (ints a, ints b)                { return _mm256_unpacklo_epi32(a, b); }
    static ints   high32(ints a, ints b)                { return _mm256_unpackhi_epi32(a, b); }
    static ints   low64 (ints a, ints b)                { return _mm256_unpacklo_epi64(a, b); }
    static ints   high64(ints a, ints b)                { return _mm256_unpackhi_epi64(a, b); }
    static floats f16   (ints x) {
        const ints low = _mm256_blend_epi16(x, _mm256_setzero_si256(), 0xaa);
        return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08)));
    }

    // of eight halves
    template <typename F>
    static floats halves(const F & eight) {
        return _mm256_cvtph_ps(eight(0));
    }

    // of four lanes each from lane 0, 4
    template <typename F>
    static ints join(const F & four) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(4), 1);
    }

    // lanes of even and of odd number, of a and then of b
    static void part(ints a, ints b, ints & even, ints & odd) {
        const __m256 x = _mm256_castsi256_ps(a);
        const __m256 y = _mm256_castsi256_ps(b);
        even = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88)), 0xd8);
        odd  = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd)), 0xd8);
    }
    static floats zeros ()                              { return _mm256_setzero_ps(); }
    static floats loadf (const float * p)               { return _mm256_loadu_ps(p); }
    static floats set1f (float x)                       { return _mm256_set1_ps(x); }
    static floats cast  (ints x)                        { return _mm256_castsi256_ps(x); }
    static floats to_f32(ints x)                        { return _mm256_cvtepi32_ps(x); }
    static floats mul   (floats a, floats b)            { return _mm256_mul_ps(a, b); }
    static floats fma   (floats a, floats b, floats c)  { return _mm256_fmadd_ps(a, b, c); }
    static void   store (float * p, floats x)           { _mm256_storeu_ps(p, x); }
    static void   store (uint8_t * p, ints x)           { _mm256_storeu_si256((__m256i *) p, x); }
    static ints   round (floats x)                      { return _mm256_cvtps_epi32(x); }
    static ints   widen16(const int16_t * p)            { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) p)); }
    static void   store16(int16_t * p, ints x) {
        _mm_storeu_si128((__m128i *) p, _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
    }
    static void   store  (int16_t * p, ints x)          { _mm256_storeu_si256((__m256i *) p, x); }

    // the lower halves of lanes, side by side
    static ints   pair16(ints a, ints b)                { return _mm256_blend_epi16(a, _mm256_slli_epi32(b, 16), 0xaa); }
#if defined(H2O_HAS_VNNI)
    static ints   dot8  (ints acc, ints u, ints s)      { return _mm256_dpbusd_avx_epi32(acc, u, s); }
#endif
#if defined(H2O_HAS_VNNI) && !defined(H2O_HAS_ASM)
    static ints   dot16 (ints acc, ints a, ints b)      { return _mm256_dpwssd_avx_epi32(acc, a, b); }
#elif defined(H2O_HAS_VNNI)
    static ints   dot16 (ints acc, ints a, ints b)      { asm("%{vex%} vpdpwssd {%2, %1, %0|%0, %1, %2}" : "+x"(acc) : "x"(a), "x"(b)); return acc; }
#endif
#endif
#if !defined(H2O_HAS_VNNI) && !defined(H2O_HAS_ASM)
    static ints   dot16 (ints acc, ints a, ints b)      { return add32(acc, madd16(a, b)); }
#elif !defined(H2O_HAS_VNNI)
    static ints   dot16 (ints acc, ints a, ints b) {
        ints both;
        asm("vpmaddwd {%3, %2, %1|%1, %2, %3}\n\tvpaddd {%1, %0, %0|%0, %0, %1}" : "+v"(acc), "=&v"(both) : "v"(a), "v"(b));
        return acc;
    }
#endif

    static constexpr int N = sizeof(ints)/4;
};

#endif
