// Logits of pages of keys for a panel of queries, from values rounded to 8 bits and added up in 32. A query has a scale
// of its own. So has a key, less its page's mean: what the keys of a page share, such as the bias of a model's keys, would
// leave nothing of the rest.

#pragma once

#include "h2o-gemm.h"
#include "h2o-turn.h"
#include "h2o-vec.h"

#include "linear/h2o-int8-lanes.h"

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

#if defined(H2O_HAS_INT8) && defined(H2O_HAS_VEC) && (!defined(__AVX512F__) || defined(__AVX512BW__))
#define H2O_HAS_INT8_SEARCH

// H2O_INT8=0: as if it had not
static inline bool h2o_int8_available() {
    static const bool res = [] {
        const char * H2O_INT8 = getenv("H2O_INT8");
        return !H2O_INT8 || atoi(H2O_INT8) != 0;
    }();
    return res;
}

// values that a row holds are a multiple of this
static constexpr int64_t H2O_INT8_STEP = 16;

// Largest values. Those of queries get an offset, as one side of a product has no sign. Without VNNI two products meet
// in 16 bits: 2*255*63 is as much as they hold.
static constexpr int H2O_INT8_OFFSET = 128;
static constexpr int H2O_INT8_QUERY  = 127;
#if defined(H2O_HAS_VNNI)
static constexpr int H2O_INT8_KEY    = 127;
#else
static constexpr int H2O_INT8_KEY    = 63;
#endif

// n values of x less `mean` (null: 0) to at most `top`; times what is returned, which is NaN if one of them is no number
static inline float h2o_round_int8(const float * x, const float * mean, int64_t n, int top, int8_t * out) {
    float most[H2O_INT8_STEP] = {};
    float nan [H2O_INT8_STEP] = {};

    for (int64_t i = 0; i < n; i += H2O_INT8_STEP) {
        for (int j = 0; j < H2O_INT8_STEP; ++j) {
            const float y = fabsf(mean ? x[i + j] - mean[i + j] : x[i + j]);
            most[j] = y > most[j] ? y : most[j];
            nan [j] += y*0.0f;
        }
    }
    float max = 0.0f;
    float bad = 0.0f;
    for (int j = 0; j < H2O_INT8_STEP; ++j) {
        max  = most[j] > max ? most[j] : max;
        bad += nan[j];
    }

    const float inverse = max > 0.0f ? top/max : 0.0f;
    for (int64_t i = 0; i < n; ++i) {
        // the lowest bits of the sum with a number whose own are zeros
        const float y = (mean ? x[i] - mean[i] : x[i])*inverse + (3 << 22);

        uint32_t bits;
        memcpy(&bits, &y, sizeof(bits));
        out[i] = (int8_t) bits;
    }
    return max/top + bad;
}

static inline h2o_int8_scale h2o_round_key(const float * x, const float * mean, int64_t d, int8_t * out) {
    const float scale = h2o_round_int8(x, mean, d, H2O_INT8_KEY, out);

    int32_t sum = 0;
    for (int64_t i = 0; i < d; ++i) {
        sum += out[i];
    }
    return { scale, -scale*H2O_INT8_OFFSET*sum };
}

// queries [H2O_PANEL][d] as columns of four values: packed [d/4][H2O_PANEL][4], with the offset; scales [H2O_PANEL].
// rows [H2O_PANEL][d] is working memory.
static inline void h2o_pack_int8(const float * queries, int64_t d, int8_t * rows, uint8_t * packed, float * scales) {
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        scales[i] = h2o_round_int8(queries + i*d, nullptr, d, H2O_INT8_QUERY, rows + i*d);
    }
    for (int64_t i = 0; i < H2O_PANEL*d; ++i) {
        rows[i] ^= (int8_t) H2O_INT8_OFFSET; // as much as adding it
    }
    h2o_turn(rows, d/4, packed);
}

// what queries and keys of four values each add to their products
static inline h2o_int8_lanes::ints h2o_int8_madd(h2o_int8_lanes::ints acc, h2o_int8_lanes::ints queries, h2o_int8_lanes::ints key) {
#if defined(H2O_HAS_VNNI)
    return h2o_int8_lanes::dot8(acc, queries, key);
#else
    return h2o_int8_lanes::add32(acc, h2o_int8_lanes::madd16(h2o_int8_lanes::madd8(queries, key), h2o_int8_lanes::ones16()));
#endif
}

// in a register from here on: GCC reads it again for each row
#if defined(_MSC_VER)
#define H2O_KEEP(x)
#else
#define H2O_KEEP(x) asm("" : "+v"(x))
#endif

// The logits of the keys of a page, GGML_H2O_PAGE of them:
//   keys    [GGML_H2O_PAGE][d], scale [GGML_H2O_PAGE]
//   queries [d/4][H2O_PANEL][4], scale_q [H2O_PANEL]
//   base    [H2O_PANEL] logits of the page's mean
//   logits  [GGML_H2O_PAGE][H2O_PANEL]
//   most    [H2O_PANEL] the largest of each column; NaN does not count
static inline void h2o_int8_score_page(
        const int8_t * keys, const h2o_int8_scale * scale, const uint8_t * queries, const float * scale_q,
        const float * base, int64_t d, float * logits, float * most) {
    using lanes = h2o_int8_lanes;

    constexpr int RM = 4;
    constexpr int RN = H2O_GEMM_RN;

    for (int64_t col = 0; col < H2O_PANEL; col += RN*lanes::N) {
        lanes::floats max[RN];
        for (int j = 0; j < RN; ++j) {
            max[j] = lanes::set1f(-INFINITY);
        }

        for (int64_t row = 0; row < GGML_H2O_PAGE; row += RM) {
            lanes::ints acc[RM][RN];
            for (int i = 0; i < RM; ++i) {
                for (int j = 0; j < RN; ++j) {
                    acc[i][j] = lanes::set1(0);
                }
            }

            for (int64_t k = 0; k < d; k += 4) {
                lanes::ints q[RN];
#pragma GCC unroll 4
                for (int j = 0; j < RN; ++j) {
                    q[j] = lanes::load(queries + k*H2O_PANEL + (col + j*lanes::N)*4);
                    H2O_KEEP(q[j]);
                }
#pragma GCC unroll 4
                for (int i = 0; i < RM; ++i) {
                    int32_t key;
                    memcpy(&key, keys + (row + i)*d + k, sizeof(key));

                    const lanes::ints four = lanes::set1(key);
#pragma GCC unroll 4
                    for (int j = 0; j < RN; ++j) {
                        acc[i][j] = h2o_int8_madd(acc[i][j], q[j], four);
                    }
                }
            }

            for (int i = 0; i < RM; ++i) {
                const lanes::floats s = lanes::set1f(scale[row + i].scale);
                const lanes::floats t = lanes::set1f(scale[row + i].shift);

                for (int j = 0; j < RN; ++j) {
                    const int64_t at = col + j*lanes::N;

                    const lanes::floats x = lanes::fma(lanes::to_f32(acc[i][j]), s, t);
                    const lanes::floats y = lanes::fma(x, lanes::loadf(scale_q + at), lanes::loadf(base + at));

                    lanes::store(logits + (row + i)*H2O_PANEL + at, y);
                    max[j] = h2o_vec_max(y, max[j]);
                }
            }
        }

        for (int j = 0; j < RN; ++j) {
            lanes::store(most + col + j*lanes::N, max[j]);
        }
    }
}

#endif
