// AVX-512 with VNNI and BF16, and AMX's tiles of BF16, in plain C++: what the kernels of src/native/h2o/ops/cpu take of
// them, as Intel's guide defines it. GCC puts this before a source (-include), and its own headers of them are left out.
// Those of AVX2 and before stay.

#pragma once

#define _AVX512FINTRIN_H_INCLUDED
#define _AVX512ERINTRIN_H_INCLUDED
#define _AVX512PFINTRIN_H_INCLUDED
#define _AVX512CDINTRIN_H_INCLUDED
#define _AVX512VLINTRIN_H_INCLUDED
#define _AVX512BWINTRIN_H_INCLUDED
#define _AVX512DQINTRIN_H_INCLUDED
#define _AVX512VLBWINTRIN_H_INCLUDED
#define _AVX512VLDQINTRIN_H_INCLUDED
#define _AVX512IFMAINTRIN_H_INCLUDED
#define _AVX512IFMAVLINTRIN_H_INCLUDED
#define _AVX512VBMIINTRIN_H_INCLUDED
#define _AVX512VBMIVLINTRIN_H_INCLUDED
#define _AVX5124FMAPSINTRIN_H_INCLUDED
#define _AVX5124VNNIWINTRIN_H_INCLUDED
#define _AVX512VPOPCNTDQINTRIN_H_INCLUDED
#define __AVX512VBMI2INTRIN_H_INCLUDED
#define _AVX512VBMI2VLINTRIN_H_INCLUDED
#define __AVX512VNNIINTRIN_H_INCLUDED
#define _AVX512VNNIVLINTRIN_H_INCLUDED
#define _AVX512VPOPCNTDQVLINTRIN_H_INCLUDED
#define _AVX512BITALGINTRIN_H_INCLUDED
#define _AVX512VP2INTERSECTINTRIN_H_INCLUDED
#define _AVX512VP2INTERSECTVLINTRIN_H_INCLUDED
#define __AVX512FP16INTRIN_H_INCLUDED
#define __AVX512FP16VLINTRIN_H_INCLUDED
#define _GFNIINTRIN_H_INCLUDED
#define __VAESINTRIN_H_INCLUDED
#define _VPCLMULQDQINTRIN_H_INCLUDED
#define _AVX512BF16VLINTRIN_H_INCLUDED
#define _AVX512BF16INTRIN_H_INCLUDED
#define _AMXTILEINTRIN_H_INCLUDED
#define _AMXINT8INTRIN_H_INCLUDED
#define _AMXBF16INTRIN_H_INCLUDED

#include <immintrin.h>

#include <cmath>
#include <cpuid.h>
#include <cstdint>
#include <cstring>
#include <unistd.h>

#define __AVX512F__    1
#define __AVX512BW__   1
#define __AVX512CD__   1
#define __AVX512DQ__   1
#define __AVX512VL__   1
#define __AVX512VNNI__ 1
#define __AVX512BF16__ 1
#define H2O_NO_ASM

typedef float     __m512  __attribute__((vector_size(64), may_alias));
typedef long long __m512i __attribute__((vector_size(64), may_alias));
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;
typedef uint64_t __mmask64;

namespace avx512 {

// for sums, differences, products and shifts of lanes; a lane alone is read from memory, as GCC 12 reads casts wrongly
// with -fsanitize=shift
typedef uint8_t  u8  __attribute__((vector_size(64)));
typedef uint16_t u16 __attribute__((vector_size(64)));
typedef int32_t  i32 __attribute__((vector_size(64)));
typedef uint32_t u32 __attribute__((vector_size(64)));
typedef uint64_t u64 __attribute__((vector_size(64)));

template <typename V> static inline V load(const void * p) {
    V res;
    memcpy(&res, p, sizeof(res));
    return res;
}

// the lanes of a vector, as numbers of type T
template <typename T, typename V> struct lanes_of {
    T each[sizeof(V)/sizeof(T)];

    T   operator[](int i) const { return each[i]; }
    T & operator[](int i)       { return each[i]; }
};
template <typename T, typename V> static inline lanes_of<T, V> lanes(V x) { return load<lanes_of<T, V>>(&x); }

// a vector V of lanes f(i)
template <typename T, typename V = __m512i, typename F> static inline V of(F f) {
    T res[sizeof(V)/sizeof(T)];
    for (size_t i = 0; i < sizeof(V)/sizeof(T); ++i) {
        res[i] = f(i);
    }
    return load<V>(res);
}

template <typename F> static inline __m512 floats(F f) { return of<float, __m512>(f); }

// a vector V of T: lane i is f of the lanes i, of type S, of the others
template <typename T, typename S, typename V = __m512i, typename F, typename... A> static inline V each(F f, A... a) {
    return [&](const auto &... x) {
        return of<T, V>([&](int i) { return f(x[i]...); });
    }(lanes<S>(a)...);
}

template <typename F, typename... A> static inline __m512 each_float(F f, A... a) { return each<float, float, __m512>(f, a...); }

// lanes in turn of the first halves of each 16 bytes of a and b, or of the second
template <typename T, int half> static inline __m512i unpack(__m512i a, __m512i b) {
    constexpr int n = 16/sizeof(T);
    const auto x = lanes<T>(a);
    const auto y = lanes<T>(b);
    return of<T>([&](int i) {
        const int at = i/n*n + half*n/2 + i%n/2;
        return i % 2 == 0 ? x[at] : y[at];
    });
}

static inline int32_t to_int(float x) {
    return fabsf(x) < 2147483648.0f ? (int32_t) rintf(x) : INT32_MIN; // NaN is not less
}

static inline float bf16_to_float(uint16_t x) {
    const uint32_t bits = (uint32_t) x << 16;
    return fabsf(load<float>(&bits)) < 1.17549435e-38f ? 0.0f : load<float>(&bits);
}

// to the nearest, of two the even; subnormal numbers are 0
static inline uint16_t float_to_bf16(float x) {
    const uint32_t bits = load<uint32_t>(&x);
    if (x != x) {
        return bits >> 16 | 0x40;
    }
    return fabsf(x) < 1.17549435e-38f ? bits >> 16 & 0x8000 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// bit i: whether f(i)
template <int n = 16, typename F> static inline uint64_t mask(F f) {
    uint64_t res = 0;
    for (int i = 0; i < n; ++i) {
        res |= (uint64_t) f(i) << i;
    }
    return res;
}

// lanes of those bits, into memory
template <typename T, typename V> static inline void store(void * p, __mmask16 m, V x) {
    const auto y = lanes<T>(x);
    for (int i = 0; i < 16; ++i) {
        if (m >> i & 1) {
            ((T *) p)[i] = y[i];
        }
    }
}

}

using avx512::lanes;

// floats
static inline __m512 _mm512_setzero_ps()               { return __m512 {}; }
static inline __m512 _mm512_set1_ps(float x)           { return avx512::floats([&](int) { return x; }); }
static inline __m512 _mm512_loadu_ps(const void * p)   { return avx512::load<__m512>(p); }
static inline void   _mm512_storeu_ps(void * p, __m512 x) { memcpy(p, &x, sizeof(x)); }
static inline __m512 _mm512_add_ps(__m512 a, __m512 b) { return a + b; }
static inline __m512 _mm512_sub_ps(__m512 a, __m512 b) { return a - b; }
static inline __m512 _mm512_mul_ps(__m512 a, __m512 b) { return a*b; }
static inline __m512 _mm512_div_ps(__m512 a, __m512 b) { return a/b; }
static inline __m512 _mm512_max_ps(__m512 a, __m512 b) {
    return avx512::each_float([](float x, float y) { return x > y ? x : y; }, a, b);
}
static inline __m512 _mm512_abs_ps(__m512 a) {
    return avx512::each_float([](float x) { return fabsf(x); }, a);
}
static inline __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
    return avx512::each_float([](float x, float y, float z) { return fmaf(x, y, z); }, a, b, c);
}
static inline __m512 _mm512_fnmadd_ps(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(-a, b, c); }
static inline __m512 _mm512_scalef_ps(__m512 a, __m512 b) {
    return avx512::each_float([](float x, float y) {
        return y == -INFINITY ? 0.0f : y != y ? y : ldexpf(x, (int) fminf(fmaxf(floorf(y), -1000.0f), 1000.0f));
    }, a, b);
}
// what is left of rounding to whole numbers
static inline __m512 _mm512_reduce_ps(__m512 a, int rounding) {
    if (rounding != _MM_FROUND_TO_NEG_INF) {
        abort();
    }
    return avx512::each_float([](float x) { return std::isinf(x) ? 0.0f : x - floorf(x); }, a);
}
static inline float _mm512_reduce_add_ps(__m512 a) {
    auto x = lanes<float>(a);
    for (int n = 8; n > 0; n /= 2) {
        for (int i = 0; i < n; ++i) {
            x[i] += x[i + n];
        }
    }
    return x[0];
}
static inline int32_t _mm512_reduce_add_epi32(__m512i a) {
    const auto x = avx512::lanes<int32_t>(a);
    int32_t res = 0;
    for (int i = 0; i < 16; ++i) {
        res += x[i];
    }
    return res;
}
static inline float _mm512_reduce_max_ps(__m512 a) {
    const auto x = lanes<float>(a);
    float res = x[0];
    for (int i = 1; i < 16; ++i) {
        res = res > x[i] ? res : x[i];
    }
    return res;
}
static inline __m512  _mm512_castsi512_ps(__m512i x) { return (__m512) x; }
static inline __m512i _mm512_castps_si512(__m512 x)  { return (__m512i) x; }
static inline __m512  _mm512_shuffle_ps(__m512 a, __m512 b, int m) {
    const auto x = lanes<float>(a);
    const auto y = lanes<float>(b);
    return avx512::floats([&](int i) {
        const int at = i/4*4 + (m >> 2*(i % 4) & 3);
        return i % 4 < 2 ? x[at] : y[at];
    });
}
static inline __m512  _mm512_shuffle_f32x4(__m512 a, __m512 b, int m) {
    const auto x = lanes<float>(a);
    const auto y = lanes<float>(b);
    return avx512::floats([&](int i) {
        const int at = 4*(m >> 2*(i/4) & 3) + i % 4;
        return i < 8 ? x[at] : y[at];
    });
}

// masks
static inline __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int how) {
    if (how != _CMP_GT_OQ && how != _CMP_LE_OQ) {
        abort();
    }
    const auto x = lanes<float>(a);
    const auto y = lanes<float>(b);
    return avx512::mask([&](int i) { return how == _CMP_GT_OQ ? x[i] > y[i] : x[i] <= y[i]; });
}
static inline __mmask16 _mm512_cmpgt_epi32_mask(__m512i a, __m512i b) {
    const auto x = lanes<int32_t>(a);
    const auto y = lanes<int32_t>(b);
    return avx512::mask([&](int i) { return x[i] > y[i]; });
}
static inline __mmask16 _mm512_cmpeq_epi32_mask(__m512i a, __m512i b) {
    const auto x = lanes<int32_t>(a);
    const auto y = lanes<int32_t>(b);
    return avx512::mask([&](int i) { return x[i] == y[i]; });
}
static inline int       _mm512_kortestz(__mmask16 a, __mmask16 b) { return (a | b) == 0; }
static inline __mmask64 _mm512_movepi8_mask(__m512i a) {
    const auto x = lanes<int8_t>(a);
    return avx512::mask<64>([&](int i) { return x[i] < 0; });
}
static inline __m512 _mm512_mask_blend_ps(__mmask16 m, __m512 a, __m512 b) {
    const auto x = lanes<float>(a);
    const auto y = lanes<float>(b);
    return avx512::floats([&](int i) { return m >> i & 1 ? y[i] : x[i]; });
}
static inline __m512i _mm512_mask_blend_epi16(__mmask32 m, __m512i a, __m512i b) {
    const auto x = lanes<int16_t>(a);
    const auto y = lanes<int16_t>(b);
    return avx512::of<int16_t>([&](int i) { return m >> i & 1 ? y[i] : x[i]; });
}
static inline __m512i _mm512_mask_sub_epi8(__m512i src, __mmask64 m, __m512i a, __m512i b) {
    const auto x = lanes<int8_t>(src);
    const auto y = lanes<uint8_t>((__m512i) ((avx512::u8) a - (avx512::u8) b));
    return avx512::of<int8_t>([&](int i) { return m >> i & 1 ? (int8_t) y[i] : x[i]; });
}
static inline __m512 _mm512_maskz_div_ps(__mmask16 m, __m512 a, __m512 b)               { return _mm512_mask_blend_ps(m, _mm512_setzero_ps(), a/b); }
static inline void   _mm512_mask_storeu_ps(void * p, __mmask16 m, __m512 x)     { avx512::store<float>(p, m, x); }
static inline void   _mm512_mask_storeu_epi32(void * p, __mmask16 m, __m512i x) { avx512::store<int32_t>(p, m, x); }
static inline __m512i _mm512_maskz_compress_epi32(__mmask16 m, __m512i a) {
    const auto x = lanes<int32_t>(a);
    int32_t res[16] = {};
    for (int i = 0, n = 0; i < 16; ++i) {
        if (m >> i & 1) {
            res[n++] = x[i];
        }
    }
    return avx512::load<__m512i>(res);
}
static inline __m512 _mm512_maskz_compress_ps(__mmask16 m, __m512 a) { return (__m512) _mm512_maskz_compress_epi32(m, (__m512i) a); }

// integers
static inline __m512i _mm512_setzero_si512()       { return __m512i {}; }
static inline __m512i _mm512_set1_epi8 (int8_t  x) { return avx512::of<int8_t> ([&](int) { return x; }); }
static inline __m512i _mm512_set1_epi16(int16_t x) { return avx512::of<int16_t>([&](int) { return x; }); }
static inline __m512i _mm512_set1_epi32(int32_t x) { return avx512::of<int32_t>([&](int) { return x; }); }
static inline __m512i _mm512_set1_epi64(int64_t x) { return avx512::of<int64_t>([&](int) { return x; }); }
static inline __m512i _mm512_loadu_si512(const void * p)       { return avx512::load<__m512i>(p); }
static inline void    _mm512_storeu_si512(void * p, __m512i x) { memcpy(p, &x, sizeof(x)); }
static inline __m512i _mm512_and_si512(__m512i a, __m512i b)   { return a & b; }
static inline __m512i _mm512_or_si512 (__m512i a, __m512i b)   { return a | b; }
static inline __m512i _mm512_xor_si512(__m512i a, __m512i b)   { return a ^ b; }
static inline __m512i _mm512_add_epi8 (__m512i a, __m512i b)   { return (__m512i) ((avx512::u8)  a + (avx512::u8)  b); }
static inline __m512i _mm512_add_epi16(__m512i a, __m512i b)   { return (__m512i) ((avx512::u16) a + (avx512::u16) b); }
static inline __m512i _mm512_add_epi32(__m512i a, __m512i b)   { return (__m512i) ((avx512::u32) a + (avx512::u32) b); }
static inline __m512i _mm512_add_epi64(__m512i a, __m512i b)   { return (__m512i) ((avx512::u64) a + (avx512::u64) b); }
static inline __m512i _mm512_sub_epi8 (__m512i a, __m512i b)   { return (__m512i) ((avx512::u8)  a - (avx512::u8)  b); }
static inline __m512i _mm512_sub_epi32(__m512i a, __m512i b)   { return (__m512i) ((avx512::u32) a - (avx512::u32) b); }
static inline __m512i _mm512_mullo_epi32(__m512i a, __m512i b) { return (__m512i) ((avx512::u32) a*(avx512::u32) b); }
static inline __m512i _mm512_abs_epi8(__m512i a) {
    return avx512::each<uint8_t, int8_t>([](int x) { return x < 0 ? -x : x; }, a);
}
static inline __m512i _mm512_slli_epi16(__m512i x, int n)     { return (__m512i) ((avx512::u16) x << n); }
static inline __m512i _mm512_srli_epi16(__m512i x, int n)     { return (__m512i) ((avx512::u16) x >> n); }
static inline __m512i _mm512_slli_epi32(__m512i x, int n)     { return (__m512i) ((avx512::u32) x << n); }
static inline __m512i _mm512_srli_epi32(__m512i x, int n)     { return (__m512i) ((avx512::u32) x >> n); }
static inline __m512i _mm512_srai_epi32(__m512i x, int n)     { return (__m512i) ((avx512::i32) x >> n); }
static inline __m512i _mm512_srlv_epi64(__m512i x, __m512i n) { return (__m512i) ((avx512::u64) x >> (avx512::u64) n); }

static inline __m512i _mm512_unpacklo_epi16(__m512i a, __m512i b) { return avx512::unpack<int16_t, 0>(a, b); }
static inline __m512i _mm512_unpackhi_epi16(__m512i a, __m512i b) { return avx512::unpack<int16_t, 1>(a, b); }
static inline __m512i _mm512_unpacklo_epi32(__m512i a, __m512i b) { return avx512::unpack<int32_t, 0>(a, b); }
static inline __m512i _mm512_unpackhi_epi32(__m512i a, __m512i b) { return avx512::unpack<int32_t, 1>(a, b); }
static inline __m512i _mm512_unpacklo_epi64(__m512i a, __m512i b) { return avx512::unpack<int64_t, 0>(a, b); }
static inline __m512i _mm512_unpackhi_epi64(__m512i a, __m512i b) { return avx512::unpack<int64_t, 1>(a, b); }
static inline __m512  _mm512_unpacklo_ps(__m512 a, __m512 b)      { return (__m512) avx512::unpack<int32_t, 0>((__m512i) a, (__m512i) b); }
static inline __m512  _mm512_unpackhi_ps(__m512 a, __m512 b)      { return (__m512) avx512::unpack<int32_t, 1>((__m512i) a, (__m512i) b); }
static inline __m512i _mm512_shuffle_i32x4(__m512i a, __m512i b, int m) { return (__m512i) _mm512_shuffle_f32x4((__m512) a, (__m512) b, m); }
static inline __m512i _mm512_shuffle_epi8(__m512i a, __m512i b) {
    const auto x  = lanes<int8_t>(a);
    const auto at = lanes<int8_t>(b);
    return avx512::of<int8_t>([&](int i) { return at[i] < 0 ? 0 : x[i/16*16 + (at[i] & 15)]; });
}
static inline __m512i _mm512_permutexvar_epi16(__m512i a, __m512i b) {
    const auto at = lanes<int16_t>(a);
    const auto x  = lanes<int16_t>(b);
    return avx512::of<int16_t>([&](int i) { return x[at[i] & 31]; });
}
template <typename T> static inline __m512i avx512_permute(__m512i a, __m512i from, __m512i b) {
    constexpr int n = 64/sizeof(T);
    const auto x  = lanes<T>(a);
    const auto y  = lanes<T>(b);
    const auto at = lanes<T>(from);
    return avx512::of<T>([&](int i) { return at[i] & n ? y[at[i] & (n - 1)] : x[at[i] & (n - 1)]; });
}
static inline __m512i _mm512_permutex2var_epi32(__m512i a, __m512i at, __m512i b) { return avx512_permute<int32_t>(a, at, b); }
static inline __m512i _mm512_permutex2var_epi64(__m512i a, __m512i at, __m512i b) { return avx512_permute<int64_t>(a, at, b); }

static inline __m512i _mm512_inserti32x4(__m512i x, __m128i y, int at) { memcpy((char *) &x + at*16, &y, 16); return x; }
static inline __m512i _mm512_inserti64x4(__m512i x, __m256i y, int at) { memcpy((char *) &x + at*32, &y, 32); return x; }
static inline __m512i _mm512_castsi128_si512(__m128i x) { return _mm512_inserti32x4(__m512i {}, x, 0); }
static inline __m512i _mm512_castsi256_si512(__m256i x) { return _mm512_inserti64x4(__m512i {}, x, 0); }
static inline __m512i _mm512_broadcast_i64x4(__m256i x) { return _mm512_inserti64x4(_mm512_castsi256_si512(x), x, 1); }
static inline __m512i _mm512_broadcast_i32x4(__m128i x) { return _mm512_broadcast_i64x4(_mm256_broadcastsi128_si256(x)); }

// lanes from the last to the first
template <typename T, typename... N> static inline __m512i avx512_set(N... x) {
    static_assert(sizeof...(x) == 64/sizeof(T), "as many as lanes");
    const T each[] = { (T) x... };
    return avx512::of<T>([&](int i) { return each[sizeof...(x) - 1 - i]; });
}
template <typename... N> static inline __m512i _mm512_set_epi16(N... x) { return avx512_set<int16_t>(x...); }
template <typename... N> static inline __m512i _mm512_set_epi32(N... x) { return avx512_set<int32_t>(x...); }
template <typename... N> static inline __m512i _mm512_set_epi64(N... x) { return avx512_set<int64_t>(x...); }

// from type to type
static inline __m512 _mm512_cvtepi32_ps(__m512i a) {
    return avx512::each<float, int32_t, __m512>([](int32_t x) { return (float) x; }, a);
}
static inline __m512i _mm512_cvtps_epi32(__m512 a) {
    return avx512::each<int32_t, float>(avx512::to_int, a);
}
static inline __m512i _mm512_cvtepi8_epi32(__m128i a) {
    return avx512::each<int32_t, int8_t>([](int8_t x) { return x; }, a);
}
static inline __m512i _mm512_cvtepu8_epi32(__m128i a) {
    return avx512::each<int32_t, uint8_t>([](uint8_t x) { return x; }, a);
}
static inline __m512i _mm512_cvtepu16_epi32(__m256i a) {
    return avx512::each<int32_t, uint16_t>([](uint16_t x) { return x; }, a);
}
static inline __m256i _mm512_cvtepi32_epi16(__m512i a) {
    return avx512::each<int16_t, int32_t, __m256i>([](int32_t x) { return (int16_t) x; }, a);
}
static inline __m128i _mm512_cvtsepi32_epi8(__m512i a) {
    return avx512::each<int8_t, int32_t, __m128i>([](int32_t x) { return x < -128 ? -128 : x > 127 ? 127 : x; }, a);
}
static inline __m512 _mm512_cvtph_ps(__m256i x) {
    const __m256 half[2] = { _mm256_cvtph_ps(_mm256_castsi256_si128(x)), _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1)) };
    return avx512::load<__m512>(half);
}
static inline __m256i _mm512_cvtps_ph(__m512 x, int rounding) {
    if (rounding != 0) {
        abort();
    }
    __m256 half[2];
    memcpy(half, &x, sizeof(half));
    return _mm256_set_m128i(_mm256_cvtps_ph(half[1], 0), _mm256_cvtps_ph(half[0], 0));
}

// products of integers
static inline __m512i _mm512_madd_epi16(__m512i a, __m512i b) {
    const auto x = lanes<int16_t>(a);
    const auto y = lanes<int16_t>(b);
    return avx512::of<uint32_t>([&](int i) { return (uint32_t) (x[2*i]*y[2*i]) + (uint32_t) (x[2*i + 1]*y[2*i + 1]); });
}
static inline __m512i _mm512_maddubs_epi16(__m512i a, __m512i b) {
    const auto x = lanes<uint8_t>(a);
    const auto y = lanes<int8_t>(b);
    return avx512::of<int16_t>([&](int i) {
        const int sum = x[2*i]*y[2*i] + x[2*i + 1]*y[2*i + 1];
        return sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum;
    });
}
static inline __m512i _mm512_dpwssd_epi32(__m512i sum, __m512i a, __m512i b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }
static inline __m512i _mm512_dpbusd_epi32(__m512i sum, __m512i a, __m512i b) {
    const auto x = lanes<uint8_t>(a);
    const auto y = lanes<int8_t>(b);
    return _mm512_add_epi32(sum, avx512::of<int32_t>([&](int i) {
        return x[4*i]*y[4*i] + x[4*i + 1]*y[4*i + 1] + x[4*i + 2]*y[4*i + 2] + x[4*i + 3]*y[4*i + 3];
    }));
}

// BF16
typedef uint16_t __m512bh __attribute__((vector_size(64), may_alias));
typedef uint16_t __m256bh __attribute__((vector_size(32), may_alias));

static inline __m512bh _mm512_cvtne2ps_pbh(__m512 high, __m512 low) {
    const auto x = lanes<float>(low);
    const auto y = lanes<float>(high);
    return avx512::of<uint16_t, __m512bh>([&](int i) { return avx512::float_to_bf16(i < 16 ? x[i] : y[i - 16]); });
}
static inline __m256bh _mm512_cvtneps_pbh(__m512 a) {
    return avx512::each<uint16_t, float, __m256bh>(avx512::float_to_bf16, a);
}
static inline __m512 _mm512_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
    const auto x = lanes<uint16_t>(a);
    const auto y = lanes<uint16_t>(b);
    const auto product = [&](int i) { return avx512::bf16_to_float(x[i])*avx512::bf16_to_float(y[i]); };
    return sum + avx512::floats([&](int i) { return product(2*i + 1); }) + avx512::floats([&](int i) { return product(2*i); });
}

// Tiles: at most 16 rows of 64 bytes, once they are configured, which clears them. What is not of a tile's rows and bytes
// stays zero
struct avx512_tile {
    uint8_t row[16][64];
};
static thread_local uint8_t     avx512_tile_config[64];
static thread_local avx512_tile avx512_tiles[8];

static inline int avx512_tile_bytes(int t) { return avx512_tile_config[16 + 2*t]; }
static inline int avx512_tile_rows (int t) { return avx512_tile_config[48 + t]; }

static inline avx512_tile & avx512_tile_at(int t) {
    if (avx512_tile_config[0] == 0 || avx512_tile_rows(t) == 0) {
        abort();
    }
    return avx512_tiles[t];
}
static inline void _tile_storeconfig(void * p) { memcpy(p, avx512_tile_config, 64); }
static inline void _tile_loadconfig(const void * p) {
    memcpy(avx512_tile_config, p, 64);
    memset(avx512_tiles, 0, sizeof(avx512_tiles));
}
static inline void _tile_zero(int t) { avx512_tile_at(t) = {}; }
static inline void _tile_loadd(int t, const void * p, int64_t stride) {
    avx512_tile & tile = avx512_tile_at(t);

    tile = {};
    for (int i = 0; i < avx512_tile_rows(t); ++i) {
        memcpy(tile.row[i], (const char *) p + i*stride, avx512_tile_bytes(t));
    }
}
static inline void _tile_stored(int t, void * p, int64_t stride) {
    for (int i = 0; i < avx512_tile_rows(t); ++i) {
        memcpy((char *) p + i*stride, avx512_tile_at(t).row[i], avx512_tile_bytes(t));
    }
}
// the processor faults where the sizes of tiles do not fit each other
static inline void avx512_tiles_fit(int c, int a, int b) {
    if (avx512_tile_bytes(a) != 4*avx512_tile_rows(b) || avx512_tile_rows(c) != avx512_tile_rows(a) ||
        avx512_tile_bytes(c) != avx512_tile_bytes(b)) {
        abort();
    }
}
static inline void _tile_dpbf16ps(int c, int a, int b) {
    avx512_tiles_fit(c, a, b);
    for (int i = 0; i < 16; ++i) {
        __m512 sum = _mm512_loadu_ps(avx512_tile_at(c).row[i]);
        for (int k = 0; k < avx512_tile_rows(b); ++k) { // pair k of the row, with that of every column
            uint16_t pair[2];
            memcpy(pair, avx512_tile_at(a).row[i] + 4*k, sizeof(pair));
            sum = _mm512_dpbf16_ps(sum, avx512::of<uint16_t, __m512bh>([&](int j) { return pair[j % 2]; }),
                    avx512::load<__m512bh>(avx512_tile_at(b).row[k]));
        }
        _mm512_storeu_ps(avx512_tile_at(c).row[i], sum);
    }
}
static inline void _tile_dpbusd(int c, int a, int b) {
    avx512_tiles_fit(c, a, b);
    for (int i = 0; i < 16; ++i) {
        int32_t sum[16];
        memcpy(sum, avx512_tile_at(c).row[i], sizeof(sum));
        for (int k = 0; k < avx512_tile_bytes(a); ++k) {
            for (int j = 0; j < 16; ++j) {
                sum[j] += avx512_tile_at(a).row[i][k]*(int8_t) avx512_tile_at(b).row[k/4][4*j + k%4];
            }
        }
        memcpy(avx512_tile_at(c).row[i], sum, sizeof(sum));
    }
}

// the processor says that it has tiles, and the kernel that they may be used
static inline int avx512_cpuid(unsigned leaf, unsigned, unsigned * a, unsigned * b, unsigned * c, unsigned * d) {
    *a = *b = *c = 0;
    *d = leaf == 7 ? 1u << 22 | 1u << 24 | 1u << 25 : 0;
    return 1;
}
#define __get_cpuid_count(leaf, sub, a, b, c, d) avx512_cpuid(leaf, sub, a, b, c, d)
template <typename... T> static inline int avx512_syscall(T...) { return 0; }
#define syscall avx512_syscall
