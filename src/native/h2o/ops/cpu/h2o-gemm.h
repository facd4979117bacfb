// The matrix product of the fused ops: a tile of rows times a panel of up to 64 columns, in registers.
//
// One micro-kernel serves AVX2, AVX-512, NEON and the scalar build: RM rows by RN vectors of accumulators stay in
// registers over the whole inner dimension. Each element of the result is one chain of fused
// multiply-adds in the order of k, whatever tile it lies in.

#pragma once

#include "h2o-vec.h"

#include <cstdint>
#include <type_traits>

// columns of a packed panel; row k of a panel holds element k of each of its columns
static constexpr int H2O_PANEL = 64;

// rows that the micro-kernel takes at once; callers pad their tiles to a multiple
static constexpr int H2O_GEMM_RM = 6;

// rows of the left side: element (i, k) is data[i*row + k*col]
struct h2o_gemm_rows {
    const float * data;
    int64_t       row;
    int64_t       col;
};

#ifdef H2O_HAS_SIMD

#if defined(__AVX512F__) || defined(__ARM_NEON)
static constexpr int H2O_GEMM_RN = 4; // 24 accumulators of 32 registers
#else
static constexpr int H2O_GEMM_RN = 2; // 12 of 16
#endif

static constexpr int H2O_GEMM_COLS = H2O_VEC_N; // callers pad their columns to a multiple

static_assert(H2O_PANEL % (H2O_GEMM_RN*H2O_VEC_N) == 0, "a panel holds whole micro-tiles");

// c [RM][ldc] = a [RM] * b [n_k][ldb], or added to what is there, for RN vectors of columns
template <int RM, int RN>
static inline void h2o_gemm_kernel(
        int n_k, h2o_gemm_rows a, const float * b, int64_t ldb, float * c, int64_t ldc, bool add) {
    h2o_vec acc[RM][RN]; // with unrolled loops: GCC keeps sums of one column in memory otherwise

#pragma GCC unroll 16
    for (int i = 0; i < RM; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < RN; ++j) {
            acc[i][j] = add ? h2o_vec_load(c + i*ldc + j*H2O_VEC_N) : h2o_vec_zero();
        }
    }

    // two pointers reach all rows by offsets that an address takes; one for each row would not fit the registers
    const float * low  = a.data;
    const float * high = a.data + RM/2*a.row;

    for (int k = 0; k < n_k; ++k, b += ldb, low += a.col, high += a.col) {
        h2o_vec bv[RN];
        for (int j = 0; j < RN; ++j) {
            bv[j] = h2o_vec_load(b + j*H2O_VEC_N);
        }
#pragma GCC unroll 16
        for (int i = 0; i < RM; ++i) {
            const h2o_vec av = h2o_vec_set1(i < RM/2 ? low[i*a.row] : high[(i - RM/2)*a.row]);
#pragma GCC unroll 16
            for (int j = 0; j < RN; ++j) {
                acc[i][j] = h2o_vec_fma(acc[i][j], bv[j], av);
            }
        }
    }

#pragma GCC unroll 16
    for (int i = 0; i < RM; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < RN; ++j) {
            h2o_vec_store(c + i*ldc + j*H2O_VEC_N, acc[i][j]);
        }
    }
}

template <int RM>
static inline void h2o_gemm_columns(
        int n_cols, int n_k, h2o_gemm_rows a, const float * b, int64_t ldb, float * c, int64_t ldc, bool add) {
    int j = 0;
    for (; j + H2O_GEMM_RN*H2O_VEC_N <= n_cols; j += H2O_GEMM_RN*H2O_VEC_N) {
        h2o_gemm_kernel<RM, H2O_GEMM_RN>(n_k, a, b + j, ldb, c + j, ldc, add);
    }
    for (; j < n_cols; j += H2O_VEC_N) {
        h2o_gemm_kernel<RM, 1>(n_k, a, b + j, ldb, c + j, ldc, add);
    }
}

// c [n_rows][ldc] = a [n_rows] * b [n_k][ldb], or added to what is there; n_cols is a multiple of H2O_GEMM_COLS
static void h2o_gemm(
        int n_rows, int n_cols, int n_k, h2o_gemm_rows a, const float * b, int64_t ldb, float * c, int64_t ldc,
        bool add = false) {
    int i = 0;
    const auto take = [&](auto rm) {
        for (; i + rm <= n_rows; i += rm) {
            h2o_gemm_columns<rm>(n_cols, n_k, { a.data + i*a.row, a.row, a.col }, b, ldb, c + i*ldc, ldc, add);
        }
    };
    // one vector of columns: more rows, as six chains of multiply-adds would wait for each other
    for (; n_cols == H2O_VEC_N && i + 2*H2O_GEMM_RM <= n_rows; i += 2*H2O_GEMM_RM) {
        h2o_gemm_kernel<2*H2O_GEMM_RM, 1>(n_k, { a.data + i*a.row, a.row, a.col }, b, ldb, c + i*ldc, ldc, add);
    }
    take(std::integral_constant<int, H2O_GEMM_RM>());
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 1>());
}

#else

static constexpr int H2O_GEMM_COLS = 1;

static void h2o_gemm(
        int n_rows, int n_cols, int n_k, h2o_gemm_rows a, const float * b, int64_t ldb, float * c, int64_t ldc,
        bool add = false) {
    for (int i = 0; i < n_rows; ++i) {
        for (int j = 0; j < n_cols; ++j) {
            float sum = add ? c[i*ldc + j] : 0.0f;
            for (int k = 0; k < n_k; ++k) {
                sum += a.data[i*a.row + k*a.col]*b[k*ldb + j];
            }
            c[i*ldc + j] = sum;
        }
    }
}

#endif

// c [n_rows][ldc], the first H2O_PANEL columns, = a [n_rows][lda] * b [n_k][H2O_PANEL]; n_rows is a multiple of
// H2O_GEMM_RM
static inline void h2o_gemm_panel(
        int n_rows, int n_k, const float * a, int64_t lda, const float * b, float * c, int64_t ldc) {
    h2o_gemm(n_rows, H2O_PANEL, n_k, { a, lda, 1 }, b, H2O_PANEL, c, ldc);
}
