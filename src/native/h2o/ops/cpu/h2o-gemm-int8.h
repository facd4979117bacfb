// Pages of keys and a panel of queries, from values rounded to 8 bits and added up in 32. A query has a scale of its own. So has
// a page, whose keys are less its mean: what they share, such as the bias of a model's keys, would leave nothing of the rest.

#pragma once

#include "h2o-amx.h"
#include "h2o-int8-tile.h"

#include "../ggml-h2o.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#ifdef H2O_HAS_INT8_SEARCH

// H2O_INT8=0: as if it had not
static inline bool h2o_int8_available() {
    static const bool res = [] {
        const char * H2O_INT8 = getenv("H2O_INT8");
        return !H2O_INT8 || atoi(H2O_INT8) != 0;
    }();
    return res;
}

// beyond any sum of products
static constexpr float H2O_INT8_MOST = 1 << 30;

// n values of x, n a multiple of H2O_INT8_STEP, to at most `top`, times what is returned. What is no number the caller finds
// (h2o_take_channels).
static inline float h2o_int8_round(const float * x, int64_t n, int top, int8_t * out) {
#if defined(__AVX512F__)
    __m512 most = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += 16) {
        most = _mm512_max_ps(_mm512_abs_ps(_mm512_loadu_ps(x + i)), most);
    }
    const float max     = _mm512_reduce_max_ps(most);
    const float inverse = max > 0.0f ? top/max : 0.0f;

    for (int64_t i = 0; i < n; i += 16) {
        const __m512i y = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(inverse)));

        _mm_storeu_si128((__m128i *) (out + i), _mm512_cvtsepi32_epi8(y));
    }
#else
    float most[H2O_INT8_STEP] = {};

    for (int64_t i = 0; i < n; i += H2O_INT8_STEP) {
        for (int j = 0; j < H2O_INT8_STEP; ++j) {
            const float y = fabsf(x[i + j]);
            most[j] = y > most[j] ? y : most[j];
        }
    }
    float max = 0.0f;
    for (const float y : most) {
        max = y > max ? y : max;
    }

    const float inverse = max > 0.0f ? top/max : 0.0f;
    for (int64_t i = 0; i < n; ++i) {
        // the lowest bits of the sum with a number whose own are zeros
        const float y = x[i]*inverse + (3 << 22);

        uint32_t bits;
        memcpy(&bits, &y, sizeof(bits));
        out[i] = (int8_t) bits;
    }
#endif
    return max/top;
}

// A page of keys [GGML_H2O_PAGE][n], with H2O_INT8_OFFSET, and queries as h2o_int8_turn leaves them.
// f(row, col, sums): begin [H2O_PANEL] and the products of the keys from `row` and the queries from `col` on
template <typename F>
static H2O_INLINE void h2o_int8_for_tiles(
        const uint8_t * keys, const int8_t * queries, const int32_t * begin, int64_t n, F f) {
    for (int64_t col = 0; col < H2O_PANEL; col += H2O_INT8_RN*H2O_VEC_N) {
        for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_INT8_RM) {
            h2o_int8_ints sums[H2O_INT8_RM][H2O_INT8_RN];
            h2o_int8_sums(keys + row*n, queries, begin, col, n, sums);
            f(row, col, sums);
        }
    }
}

#ifdef H2O_HAS_AMX
// the same by AMX's products, in a scope of h2o_amx_bytes(n); work [GGML_H2O_PAGE][H2O_PANEL]
template <typename F>
static H2O_INLINE void h2o_int8_for_amx_tiles(
        const uint8_t * keys, const int8_t * queries, const int32_t * begin, int64_t n, int32_t * work, F f) {
    for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_AMX_ROWS) {
        for (int64_t col = 0; col < H2O_PANEL; col += H2O_AMX_COLS) {
            h2o_amx_gemm_int8(keys + row*n, n, queries + 4*col, H2O_PANEL, n, work + row*H2O_PANEL + col, H2O_PANEL);
        }
    }
    static_assert(H2O_INT8_RN*H2O_VEC_N == H2O_PANEL, "all queries at once");

    h2o_int8_ints first[H2O_INT8_RN];
    for (int j = 0; j < H2O_INT8_RN; ++j) {
        first[j] = h2o_int8_load(begin + j*H2O_VEC_N);
    }
    for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_INT8_RM) {
        h2o_int8_ints sums[H2O_INT8_RM][H2O_INT8_RN];
        for (int i = 0; i < H2O_INT8_RM; ++i) {
            for (int j = 0; j < H2O_INT8_RN; ++j) {
                sums[i][j] = h2o_int8_lanes::add32(h2o_int8_load(work + (row + i)*H2O_PANEL + j*H2O_VEC_N), first[j]);
            }
        }
        f(row, 0, sums);
    }
}
#endif

// A bit for each key of a page whose sum with some query ends at zero or above. tiles: whether products are AMX's
static H2O_NOINLINE uint64_t h2o_int8_compare_page(
        const uint8_t * keys, const int8_t * queries, const int32_t * begin, int64_t n, bool tiles, int32_t * work) {
    uint64_t res = 0;

    const auto compare = [&](int64_t row, int64_t, h2o_int8_ints (&sums)[H2O_INT8_RM][H2O_INT8_RN]) {
        for (int i = 0; i < H2O_INT8_RM; ++i) {
            h2o_int8_ints all = sums[i][0];
            for (int j = 1; j < H2O_INT8_RN; ++j) {
                all = h2o_int8_both(all, sums[i][j]); // negative where all are
            }
            res |= (uint64_t) h2o_int8_any(all) << (row + i);
        }
    };
#ifdef H2O_HAS_AMX
    if (tiles) {
        h2o_int8_for_amx_tiles(keys, queries, begin, n, work, compare);
        return res;
    }
#else
    GGML_UNUSED(tiles);
    GGML_UNUSED(work);
#endif
    h2o_int8_for_tiles(keys, queries, begin, n, compare);
    return res;
}

// The logits [GGML_H2O_PAGE][H2O_PANEL] of a page: scale is that of its keys, scale_q [H2O_PANEL] are those of queries, base
// [H2O_PANEL] the logits of its mean.
static H2O_NOINLINE void h2o_int8_score_page(
        const uint8_t * keys, const int8_t * queries, const int32_t * begin, int64_t n, float scale, const float * scale_q,
        const float * base, float * logits) {
    h2o_int8_for_tiles(keys, queries, begin, n, [&](int64_t row, int64_t col, h2o_int8_ints (&sums)[H2O_INT8_RM][H2O_INT8_RN]) {
        for (int j = 0; j < H2O_INT8_RN; ++j) {
            const int64_t at = col + j*H2O_VEC_N;
            const h2o_vec by = h2o_vec_mul(h2o_vec_load(scale_q + at), h2o_vec_set1(scale));

            for (int i = 0; i < H2O_INT8_RM; ++i) {
                h2o_vec_store(logits + (row + i)*H2O_PANEL + at, h2o_vec_fma(h2o_vec_load(base + at), h2o_int8_to_f32(sums[i][j]), by));
            }
        }
    });
}

#endif
