// The matrix product of the fused attention: a tile of rows times a packed panel of 64 columns, in registers.
//
// One micro-kernel on ggml's vector wrappers serves AVX2, AVX-512, NEON and the scalar build: RM rows by RN vectors of
// accumulators stay in registers over the whole inner dimension.

#pragma once

#include "simd-mappings.h"

#include <cstdint>

// columns of a packed panel; row k of a panel holds element k of each of its columns
static constexpr int H2O_PANEL = 64;

// rows that the micro-kernel takes at once; callers pad their tiles to a multiple
static constexpr int H2O_GEMM_RM = 6;

#if defined(GGML_SIMD) && !defined(__ARM_FEATURE_SVE) && !defined(__riscv_v_intrinsic)

#if defined(__AVX512F__) || defined(__ARM_NEON)
static constexpr int H2O_GEMM_RN = 4; // 24 accumulators of 32 registers
#else
static constexpr int H2O_GEMM_RN = 2; // 12 of 16
#endif

// c [RM][ldc] = a [RM][lda] * b [n_k][H2O_PANEL], for RN vectors of columns
static inline void h2o_gemm_kernel(
        int n_k, const float * a, int64_t lda, const float * b, float * c, int64_t ldc) {
    GGML_F32_VEC acc[H2O_GEMM_RM][H2O_GEMM_RN];

    for (int i = 0; i < H2O_GEMM_RM; ++i) {
        for (int j = 0; j < H2O_GEMM_RN; ++j) {
            acc[i][j] = GGML_F32_VEC_ZERO;
        }
    }

    for (int k = 0; k < n_k; ++k) {
        GGML_F32_VEC bv[H2O_GEMM_RN];
        for (int j = 0; j < H2O_GEMM_RN; ++j) {
            bv[j] = GGML_F32_VEC_LOAD(b + (int64_t) k*H2O_PANEL + j*GGML_F32_EPR);
        }
        for (int i = 0; i < H2O_GEMM_RM; ++i) {
            const GGML_F32_VEC av = GGML_F32_VEC_SET1(a[i*lda + k]);
            for (int j = 0; j < H2O_GEMM_RN; ++j) {
                acc[i][j] = GGML_F32_VEC_FMA(acc[i][j], bv[j], av);
            }
        }
    }

    for (int i = 0; i < H2O_GEMM_RM; ++i) {
        for (int j = 0; j < H2O_GEMM_RN; ++j) {
            GGML_F32_VEC_STORE(c + i*ldc + j*GGML_F32_EPR, acc[i][j]);
        }
    }
}

// c [n_rows][ldc], the first H2O_PANEL columns, = a [n_rows][lda] * b [n_k][H2O_PANEL]; n_rows is a multiple of H2O_GEMM_RM
static void h2o_gemm_panel(
        int n_rows, int n_k, const float * a, int64_t lda, const float * b, float * c, int64_t ldc) {
    constexpr int step = H2O_GEMM_RN*GGML_F32_EPR;

    static_assert(H2O_PANEL % step == 0, "a panel holds whole micro-tiles");

    for (int i = 0; i < n_rows; i += H2O_GEMM_RM) {
        for (int j = 0; j < H2O_PANEL; j += step) {
            h2o_gemm_kernel(n_k, a + i*lda, lda, b + j, c + i*ldc + j, ldc);
        }
    }
}

#else

static void h2o_gemm_panel(
        int n_rows, int n_k, const float * a, int64_t lda, const float * b, float * c, int64_t ldc) {
    for (int i = 0; i < n_rows; ++i) {
        for (int j = 0; j < H2O_PANEL; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < n_k; ++k) {
                sum += a[i*lda + k]*b[(int64_t) k*H2O_PANEL + j];
            }
            c[i*ldc + j] = sum;
        }
    }
}

#endif
