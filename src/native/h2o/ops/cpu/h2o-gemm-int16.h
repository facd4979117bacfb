// Products of 16-bit integers, added up in 32 bits: an instruction of AVX-512 VNNI has twice the multiply-adds of one of
// F32. A row is rounded with a unit of its own, chosen so that no sum can leave its 32 bits.

#pragma once

#include "h2o-vec.h"

#if defined(H2O_HAS_VEC) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
#define H2O_HAS_INT16

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

// values that a row holds are a multiple of this
static constexpr int64_t H2O_INT16_STEP = 16;

// the size of a row: its largest value, and the root of the sum of its squares; NaN if a value is no number
struct h2o_row_size {
    float max;
    float norm;
};

static inline h2o_row_size h2o_size_of_row(const float * x, int64_t n) {
    __m512 max = _mm512_setzero_ps();
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += H2O_INT16_STEP) {
        const __m512 y = _mm512_loadu_ps(x + i);

        max = h2o_vec_max(_mm512_abs_ps(y), max);
        sum = _mm512_fmadd_ps(y, y, sum);
    }
    const float all = _mm512_reduce_add_ps(sum);

    return { h2o_vec_reduce_max(max) + 0.0f*all, sqrtf(all) };
}

// values of x in units of 1/inverse
static inline __m512i h2o_int16_round(const float * x, __m512 inverse) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), inverse));
}

static inline __m512 h2o_inverse(float unit) {
    return _mm512_set1_ps(unit > 0.0f ? 1.0f/unit : 0.0f);
}

// two vectors of values, side by side
static inline void h2o_int16_store_pairs(int16_t * out, __m512i a, __m512i b) {
    _mm512_storeu_si512(out, _mm512_mask_blend_epi16(0xaaaaaaaa, a, _mm512_slli_epi32(b, 16)));
}

// n values of each of two rows, a multiple of H2O_INT16_STEP, side by side
static inline void h2o_int16_join(const int16_t * a, const int16_t * b, int64_t n, int16_t * out) {
    for (int64_t i = 0; i < n; i += H2O_INT16_STEP) {
        const __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) (a + i)));
        const __m512i y = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) (b + i)));

        _mm512_storeu_si512(out + 2*i, _mm512_or_si512(x, _mm512_slli_epi32(y, 16)));
    }
}

static inline void h2o_int16_round_row(const float * x, int64_t n, float unit, int16_t * out) {
    const __m512 inverse = h2o_inverse(unit);
    for (int64_t i = 0; i < n; i += H2O_INT16_STEP) {
        _mm256_storeu_si256((__m256i *) (out + i), _mm512_cvtepi32_epi16(h2o_int16_round(x + i, inverse)));
    }
}

// a row by its largest value; returns its unit, which is NaN if a value is no number
static inline float h2o_int16_round_by_max(const float * x, int64_t n, int16_t * out) {
    const float unit = h2o_size_of_row(x, n).max/INT16_MAX;

    h2o_int16_round_row(x, n, unit, out);
    return unit;
}

// The product of two rows is at most that of their norms: 46000^2, and what rounding adds, are less than 2^31.
static constexpr float H2O_INT16_NORM = 46000.0f;

// a row for products with another like it; returns its unit, which is NaN if a value is no number
static inline float h2o_int16_round_by_norm(const float * x, int64_t n, int16_t * out) {
    const h2o_row_size size = h2o_size_of_row(x, n);
    const float        unit = std::max(size.norm/H2O_INT16_NORM, size.max/INT16_MAX);

    h2o_int16_round_row(x, n, unit, out);
    return unit + 0.0f*size.max;
}

// rows of the left side: two values of row i, k and k + 1, are at data + i*row + k/2*col
struct h2o_int16_rows {
    const int16_t * data;
    int64_t         row;
    int64_t         col;
};

static inline __m512i h2o_int16_dot(__m512i sum, __m512i a, __m512i b) {
#ifdef H2O_HAS_ASM
    // GCC moves the sums of the intrinsic from register to register; both dialects, as -masm wants
    asm("vpdpwssd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
#else
    return _mm512_dpwssd_epi32(sum, a, b);
#endif
}

// write(i, j, sums): a vector of sums of row i, from column j on
template <int RM, int RN, typename F>
static void h2o_int16_tile(int64_t n_pairs, h2o_int16_rows a, const int16_t * b, int64_t ldb, const F & write) {
    __m512i sum[RM][RN];
    for (int i = 0; i < RM; ++i) {
        for (int j = 0; j < RN; ++j) {
            sum[i][j] = _mm512_setzero_si512();
        }
    }
    for (int64_t k = 0; k < n_pairs; ++k) {
        __m512i bv[RN];
        for (int j = 0; j < RN; ++j) {
            bv[j] = _mm512_loadu_si512(b + (k*ldb + j*16)*2);
        }
        for (int i = 0; i < RM; ++i) {
            int32_t two;
            memcpy(&two, a.data + i*a.row + k*a.col, sizeof(two));

            const __m512i av = _mm512_set1_epi32(two);
            for (int j = 0; j < RN; ++j) {
                sum[i][j] = h2o_int16_dot(sum[i][j], bv[j], av);
            }
        }
    }
    // unrolled, as sums in a loop would go through the stack
#pragma GCC unroll 6
    for (int i = 0; i < RM; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < RN; ++j) {
            write(i, j*16, _mm512_cvtepi32_ps(sum[i][j]));
        }
    }
}

// a [n_rows] * b [n_pairs][ldb][2], n_cols columns of it, a multiple of 16
template <typename F>
static void h2o_int16_gemm(
        int64_t n_rows, int64_t n_cols, int64_t n_pairs, h2o_int16_rows a, const int16_t * b, int64_t ldb, const F & write) {
    constexpr int RN = 4; // 24 accumulators of 32 registers

    int64_t i = 0;
    const auto take = [&](auto rm) {
        for (; i + rm <= n_rows; i += rm) {
            const h2o_int16_rows rows = { a.data + i*a.row, a.row, a.col };

            int64_t j = 0;
            const auto put = [&](int di, int dj, __m512 sums) { write(i + di, j + dj, sums); };

            for (; j + RN*16 <= n_cols; j += RN*16) {
                h2o_int16_tile<rm, RN>(n_pairs, rows, b + 2*j, ldb, put);
            }
            for (; j < n_cols; j += 16) {
                h2o_int16_tile<rm, 1>(n_pairs, rows, b + 2*j, ldb, put);
            }
        }
    };
    take(std::integral_constant<int, 6>());
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 1>());
}

#endif
