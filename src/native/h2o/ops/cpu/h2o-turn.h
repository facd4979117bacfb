// Rows of four bytes' worth of values as columns, for H2O_PANEL rows: what a product broadcasts or reads side by side.

#pragma once

#include "h2o-columns.h"

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>

static inline void h2o_turn_16(const char * in, int64_t ld, char * out) {
    __m512i x[16];
    __m512i y[16];
    for (int i = 0; i < 16; ++i) {
        x[i] = _mm512_loadu_si512(in + i*ld);
    }
    for (int i = 0; i < 16; i += 2) {
        y[i]     = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) { // x[i + k]: value k of each quarter, of rows i to i + 3
        x[i]     = _mm512_unpacklo_epi64(y[i],     y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i],     y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
    for (int k = 0; k < 4; ++k) {
        const __m512i a = _mm512_shuffle_i32x4(x[k],     x[k + 4],  0x88); // quarters 0 and 2
        const __m512i b = _mm512_shuffle_i32x4(x[k + 8], x[k + 12], 0x88);
        const __m512i c = _mm512_shuffle_i32x4(x[k],     x[k + 4],  0xdd); // 1 and 3
        const __m512i d = _mm512_shuffle_i32x4(x[k + 8], x[k + 12], 0xdd);

        _mm512_storeu_si512(out + (k)     *H2O_PANEL*4, _mm512_shuffle_i32x4(a, b, 0x88));
        _mm512_storeu_si512(out + (k + 4) *H2O_PANEL*4, _mm512_shuffle_i32x4(c, d, 0x88));
        _mm512_storeu_si512(out + (k + 8) *H2O_PANEL*4, _mm512_shuffle_i32x4(a, b, 0xdd));
        _mm512_storeu_si512(out + (k + 12)*H2O_PANEL*4, _mm512_shuffle_i32x4(c, d, 0xdd));
    }
}
#endif

// in [H2O_PANEL][n] -> out [n][H2O_PANEL], of four bytes each
static inline void h2o_turn(const void * in, int64_t n, void * out) {
    int64_t k = 0;
#if defined(__AVX512F__)
    for (; k + 16 <= n; k += 16) {
        for (int64_t i = 0; i < H2O_PANEL; i += 16) {
            h2o_turn_16((const char *) in + (i*n + k)*4, n*4, (char *) out + (k*H2O_PANEL + i)*4);
        }
    }
#endif
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        for (int64_t j = k; j < n; ++j) {
            memcpy((char *) out + (j*H2O_PANEL + i)*4, (const char *) in + (i*n + j)*4, 4);
        }
    }
}
