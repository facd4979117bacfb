// Logits of pages of keys for a panel of queries, from values rounded to 8 bits and added up in 32. A query has a scale
// of its own. So has a key, less its page's mean: what the keys of a page share, such as the bias of a model's keys, would
// leave nothing of the rest.

#pragma once

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

// n values of x to at most `top`; times what is returned. What is no number the caller finds (h2o_take_channels).
static inline float h2o_round_int8(const float * x, int64_t n, int top, int8_t * out) {
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
    return max/top;
}

static inline h2o_int8_scale h2o_round_key(const float * x, int64_t n, int8_t * out) {
    const float scale = h2o_round_int8(x, n, H2O_INT8_KEY, out);

    int32_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += out[i];
    }
    return { scale, -scale*H2O_INT8_OFFSET*sum };
}

// Queries packed as columns of n values, n*H2O_PANEL with the offset; scales [H2O_PANEL].
// row(i): the values of query i, until the next is asked for. rows [H2O_PANEL][n] is working memory.
template <typename F>
static inline void h2o_pack_int8(int64_t n, F row, int8_t * rows, uint8_t * packed, float * scales) {
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        scales[i] = h2o_round_int8(row(i), n, H2O_INT8_QUERY, rows + i*n);
    }
    for (int64_t i = 0; i < H2O_PANEL*n; ++i) {
        rows[i] = (int8_t) (rows[i] + H2O_INT8_OFFSET);
    }
    h2o_int8_turn(rows, n, packed);
}

// The logits of the keys of a page, GGML_H2O_PAGE of them:
//   keys    [GGML_H2O_PAGE][n], scale [GGML_H2O_PAGE]
//   queries as h2o_pack_int8 packs them, scale_q [H2O_PANEL]
//   base    [H2O_PANEL] logits of the page's mean
//   logits  [GGML_H2O_PAGE][H2O_PANEL]
//   most    [H2O_PANEL] the largest of each column; NaN does not count
static H2O_NOINLINE void h2o_int8_score_page(
        const int8_t * keys, const h2o_int8_scale * scale, const uint8_t * queries, const float * scale_q,
        const float * base, int64_t n, float * logits, float * most) {
    for (int64_t col = 0; col < H2O_PANEL; col += H2O_INT8_RN*H2O_VEC_N) {
        h2o_vec max[H2O_INT8_RN];
        for (h2o_vec & x : max) {
            x = h2o_vec_set1(-INFINITY);
        }

        for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_INT8_RM) {
            h2o_vec sums[H2O_INT8_RM][H2O_INT8_RN];
            h2o_int8_tile(keys + row*n, queries, col, n, sums);

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

#endif
