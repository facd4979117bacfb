// Rows of four bytes' worth of values as columns, for H2O_PANEL rows: what a product broadcasts or reads side by side.

#pragma once

#include "h2o-columns.h"

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>

// 16 rows of 16 double words, in place
static H2O_INLINE void h2o_transpose_16(__m512i * r) {
    __m512i t[16];

    for (int i = 0; i < 16; i += 2) {
        t[i]     = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i]     = _mm512_unpacklo_epi64(t[i],     t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i],     t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        t[i]      = _mm512_shuffle_i32x4(r[i],     r[i + 4],  0x88);
        t[i + 4]  = _mm512_shuffle_i32x4(r[i],     r[i + 4],  0xdd);
        t[i + 8]  = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
        r[i]      = _mm512_shuffle_i32x4(t[i],     t[i + 8],  0x88);
        r[i + 4]  = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 8]  = _mm512_shuffle_i32x4(t[i],     t[i + 8],  0xdd);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}
#endif

// in [H2O_PANEL][n] -> out [n][H2O_PANEL], of four bytes each
static inline void h2o_turn(const void * in, int64_t n, void * out) {
    int64_t k = 0;
#if defined(__AVX512F__)
    for (; k + 16 <= n; k += 16) {
        for (int64_t i = 0; i < H2O_PANEL; i += 16) {
            __m512i x[16];
            for (int j = 0; j < 16; ++j) {
                x[j] = _mm512_loadu_si512((const char *) in + ((i + j)*n + k)*4);
            }
            h2o_transpose_16(x);
            for (int j = 0; j < 16; ++j) {
                _mm512_storeu_si512((char *) out + ((k + j)*H2O_PANEL + i)*4, x[j]);
            }
        }
    }
#endif
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        for (int64_t j = k; j < n; ++j) {
            memcpy((char *) out + (j*H2O_PANEL + i)*4, (const char *) in + (i*n + j)*4, 4);
        }
    }
}
