// Products of 16-bit integers, added up in 32 bits: VNNI has twice the multiply-adds of F32 in an instruction, and products
// of two added up in 32 bits are one and a half times as fast without it. A row is rounded with a unit of its own, chosen so
// that no sum can leave its 32 bits.

#pragma once

#include "h2o-vec.h"

#include "linear/h2o-int8-lanes.h"

#if defined(H2O_HAS_VEC) && defined(H2O_HAS_INT8)
#define H2O_HAS_INT16

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

// values that a row holds are a multiple of this
static constexpr int64_t H2O_INT16_STEP = h2o_int8_lanes::N;

// the size of a row: its largest value, and the root of the sum of its squares; NaN if a value is no number
struct h2o_row_size {
    float max;
    float norm;
};

static inline h2o_row_size h2o_size_of_row(const float * x, int64_t n) {
    h2o_vec max = h2o_vec_zero();
    h2o_vec sum = h2o_vec_zero();
    for (int64_t i = 0; i < n; i += H2O_VEC_N) {
        const h2o_vec y = h2o_vec_load(x + i);

        max = h2o_vec_max(h2o_vec_abs(y), max);
        sum = h2o_vec_fma(sum, y, y);
    }
    const float all = h2o_vec_reduce_add(sum);

    return { h2o_vec_reduce_max(max) + 0.0f*all, sqrtf(all) };
}

// values of x in units of 1/inverse
static inline h2o_int8_lanes::ints h2o_int16_round(const float * x, h2o_int8_lanes::floats inverse) {
    return h2o_int8_lanes::round(h2o_int8_lanes::mul(h2o_int8_lanes::loadf(x), inverse));
}

static inline float h2o_inverse(float unit) {
    return unit > 0.0f ? 1.0f/unit : 0.0f;
}

// n values of each of two rows, a multiple of H2O_INT16_STEP, side by side
static inline void h2o_int16_join(const int16_t * a, const int16_t * b, int64_t n, int16_t * out) {
    using V = h2o_int8_lanes;

    for (int64_t i = 0; i < n; i += V::N) {
        V::store(out + 2*i, V::either(V::widen16(a + i), V::left<16>(V::widen16(b + i))));
    }
}

static inline void h2o_int16_round_row(const float * x, int64_t n, float unit, int16_t * out) {
    const h2o_int8_lanes::floats inverse = h2o_int8_lanes::set1f(h2o_inverse(unit));
    for (int64_t i = 0; i < n; i += h2o_int8_lanes::N) {
        h2o_int8_lanes::store16(out + i, h2o_int16_round(x + i, inverse));
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

// that of a row for products with another like it; NaN if a value is no number
static inline float h2o_int16_unit(h2o_row_size size) {
    return std::max(size.norm/H2O_INT16_NORM, size.max/INT16_MAX) + 0.0f*size.max;
}

// such a row; returns its unit
static inline float h2o_int16_round_by_norm(const float * x, int64_t n, int16_t * out) {
    const float unit = h2o_int16_unit(h2o_size_of_row(x, n));

    h2o_int16_round_row(x, n, unit, out);
    return unit;
}

// rows of the left side: two values of row i, k and k + 1, are at data + i*row + k/2*col
struct h2o_int16_rows {
    const int16_t * data;
    int64_t         row;
    int64_t         col;
};

// write(i, j, sums): a vector of sums of row i, from column j on
template <int RM, int RN, typename F>
static void h2o_int16_tile(int64_t n_pairs, h2o_int16_rows a, const int16_t * b, int64_t ldb, const F & write) {
    using V = h2o_int8_lanes;

    V::ints sum[RM][RN];
    for (int i = 0; i < RM; ++i) {
        for (int j = 0; j < RN; ++j) {
            sum[i][j] = V::set1(0);
        }
    }
    for (int64_t k = 0; k < n_pairs; ++k) {
        V::ints bv[RN];
        for (int j = 0; j < RN; ++j) {
            bv[j] = V::load(b + (k*ldb + j*V::N)*2);
        }
        for (int i = 0; i < RM; ++i) {
            int32_t two;
            memcpy(&two, a.data + i*a.row + k*a.col, sizeof(two));

            const V::ints av = V::set1(two);
            for (int j = 0; j < RN; ++j) {
                sum[i][j] = V::dot16(sum[i][j], bv[j], av);
            }
        }
    }
    // unrolled, as sums in a loop would go through the stack
#pragma GCC unroll 6
    for (int i = 0; i < RM; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < RN; ++j) {
            write(i, j*V::N, V::to_f32(sum[i][j]));
        }
    }
}

// rows and vectors of columns that a tile takes: 24 accumulators of 32 registers, or 12 of 16
static constexpr int H2O_INT16_RM = 6;
static constexpr int H2O_INT16_RN = h2o_int8_lanes::N == 16 ? 4 : 2;

// a [n_rows] * b [n_pairs][ldb][2], n_cols columns of it, a multiple of a vector's lanes
template <typename F>
static void h2o_int16_gemm(
        int64_t n_rows, int64_t n_cols, int64_t n_pairs, h2o_int16_rows a, const int16_t * b, int64_t ldb, const F & write) {
    constexpr int N  = h2o_int8_lanes::N;
    constexpr int RN = H2O_INT16_RN;

    int64_t i = 0;
    const auto take = [&](auto rm) {
        for (; i + rm <= n_rows; i += rm) {
            const h2o_int16_rows rows = { a.data + i*a.row, a.row, a.col };

            int64_t j = 0;
            const auto put = [&](int di, int dj, h2o_int8_lanes::floats sums) { write(i + di, j + dj, sums); };

            for (; j + RN*N <= n_cols; j += RN*N) {
                h2o_int16_tile<rm, RN>(n_pairs, rows, b + 2*j, ldb, put);
            }
            for (; j < n_cols; j += N) {
                h2o_int16_tile<rm, 1>(n_pairs, rows, b + 2*j, ldb, put);
            }
        }
    };
    take(std::integral_constant<int, H2O_INT16_RM>());
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 1>());
}

#endif
