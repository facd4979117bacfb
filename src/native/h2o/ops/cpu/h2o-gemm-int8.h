// Logits of pages of keys for a panel of queries, from values rounded to 8 bits and added up in 32. A query has a scale
// of its own. So has a key, less its page's mean: what the keys of a page share, such as the bias of a model's keys, would
// leave nothing of the rest.

#pragma once

#include "h2o-amx.h"
#include "h2o-int8-tile.h"

#include "../ggml-h2o.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// what a rounded key of sum `sum` is: scale*(product - H2O_INT8_OFFSET*sum) + the logit of its page's mean
struct h2o_int8_scale {
    float scale;
    float shift; // -scale*H2O_INT8_OFFSET*sum
};

#ifdef H2O_HAS_INT8_SEARCH

// H2O_INT8=0: as if it had not
static inline bool h2o_int8_available() {
    static const bool res = [] {
        const char * H2O_INT8 = getenv("H2O_INT8");
        return !H2O_INT8 || atoi(H2O_INT8) != 0;
    }();
    return res;
}

// n values of x to at most `top`, times what is returned, and their sum. What is no number the caller finds
// (h2o_take_channels).
static inline float h2o_round_int8(const float * x, int64_t n, int top, int8_t * out, int32_t & sum) {
#if defined(__AVX512F__)
    __m512 most = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += 16) {
        most = _mm512_max_ps(_mm512_abs_ps(_mm512_loadu_ps(x + i)), most);
    }
    const float max     = _mm512_reduce_max_ps(most);
    const float inverse = max > 0.0f ? top/max : 0.0f;

    __m512i sums = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += 16) {
        const __m128i y = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(inverse))));

        sums = _mm512_add_epi32(sums, _mm512_cvtepi8_epi32(y));
        _mm_storeu_si128((__m128i *) (out + i), y);
    }
    sum = _mm512_reduce_add_epi32(sums);
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
    sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += out[i];
    }
#endif
    return max/top;
}

static inline h2o_int8_scale h2o_round_key(const float * x, int64_t n, int8_t * out) {
    int32_t sum;
    const float scale = h2o_round_int8(x, n, H2O_INT8_KEY, out, sum);

    return { scale, -scale*H2O_INT8_OFFSET*sum };
}

// Queries packed as columns of n values, n*H2O_PANEL with the offset; scales [H2O_PANEL].
// row(i): the values of query i, until the next is asked for. rows [H2O_PANEL][n] is working memory.
template <typename F>
static inline void h2o_pack_int8(int64_t n, F row, int8_t * rows, uint8_t * packed, float * scales) {
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        int32_t sum;
        scales[i] = h2o_round_int8(row(i), n, H2O_INT8_QUERY, rows + i*n, sum);
    }
    for (int64_t i = 0; i < H2O_PANEL*n; ++i) {
        rows[i] = (int8_t) (rows[i] + H2O_INT8_OFFSET);
    }
    h2o_int8_turn(rows, n, packed);
}

// tile(col, row, sums) gives sums of the keys from `row` and the queries from `col` on
template <typename F>
static H2O_INLINE void h2o_int8_scale_page(
        const h2o_int8_scale * scale, const float * scale_q, const float * base, float * logits, float * most, F tile) {
    for (int64_t col = 0; col < H2O_PANEL; col += H2O_INT8_RN*H2O_VEC_N) {
        h2o_vec max[H2O_INT8_RN];
        for (h2o_vec & x : max) {
            x = h2o_vec_set1(-INFINITY);
        }

        for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_INT8_RM) {
            h2o_vec sums[H2O_INT8_RM][H2O_INT8_RN];
            tile(col, row, sums);

            for (int i = 0; i < H2O_INT8_RM; ++i) {
                const h2o_vec s = h2o_vec_set1(scale[row + i].scale);
                const h2o_vec t = h2o_vec_set1(scale[row + i].shift);

                for (int j = 0; j < H2O_INT8_RN; ++j) {
                    const int64_t at = col + j*H2O_VEC_N;

                    const h2o_vec x = h2o_vec_fma(t, sums[i][j], s);
                    const h2o_vec y = h2o_vec_fma(h2o_vec_load(base + at), x, h2o_vec_load(scale_q + at));

                    h2o_vec_store(logits + (row + i)*H2O_PANEL + at, y);
                    max[j] = h2o_vec_max(y, max[j]);
                }
            }
        }

        for (int j = 0; j < H2O_INT8_RN; ++j) {
            h2o_vec_store(most + col + j*H2O_VEC_N, max[j]);
        }
    }
}

// The logits of the keys of a page, GGML_H2O_PAGE of them:
//   keys    [GGML_H2O_PAGE][n], scale [GGML_H2O_PAGE]
//   queries as h2o_pack_int8 packs them, scale_q [H2O_PANEL]
//   base    [H2O_PANEL] logits of the page's mean
//   tiles   whether products are AMX's, in a scope of h2o_amx_bytes(n)
//   logits  [GGML_H2O_PAGE][H2O_PANEL]
//   most    [H2O_PANEL] the largest of each column; NaN does not count
static H2O_NOINLINE void h2o_int8_score_page(
        const int8_t * keys, const h2o_int8_scale * scale, const uint8_t * queries, const float * scale_q,
        const float * base, int64_t n, bool tiles, float * logits, float * most) {
#ifdef H2O_HAS_AMX
    if (tiles) {
        int32_t * products = (int32_t *) logits; // where they become logits

        for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_AMX_ROWS) {
            for (int64_t col = 0; col < H2O_PANEL; col += H2O_AMX_COLS) {
                h2o_amx_gemm_int8(keys + row*n, n, queries + 4*col, H2O_PANEL, n,
                        products + row*H2O_PANEL + col, H2O_PANEL);
            }
        }
        h2o_int8_scale_page(scale, scale_q, base, logits, most, [&](int64_t col, int64_t row, auto & sums) {
            for (int i = 0; i < H2O_INT8_RM; ++i) {
                for (int j = 0; j < H2O_INT8_RN; ++j) {
                    sums[i][j] = _mm512_cvtepi32_ps(_mm512_loadu_si512(products + (row + i)*H2O_PANEL + col + j*H2O_VEC_N));
                }
            }
        });
        return;
    }
#else
    GGML_UNUSED(tiles);
#endif
    h2o_int8_scale_page(scale, scale_q, base, logits, most, [&](int64_t col, int64_t row, auto & sums) {
        h2o_int8_scores(keys + row*n, queries, col, n, sums);
    });
}

#endif
