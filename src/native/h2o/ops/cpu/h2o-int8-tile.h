// The products of a tile of the search: a few keys of 8-bit values by a few vectors of queries, a query to a lane.

#pragma once

#include "h2o-gemm.h"
#include "h2o-inline.h"
#include "h2o-turn.h"
#include "h2o-vec.h"

#include "linear/h2o-int8-lanes.h"

#include <cstdint>
#include <cstring>

#if defined(H2O_HAS_VEC) && defined(__ARM_FEATURE_DOTPROD)
#define H2O_HAS_INT8_SEARCH

// Largest values, and what is added to those of keys.
static constexpr int H2O_INT8_QUERY  = 127;
static constexpr int H2O_INT8_KEY    = 127;
static constexpr int H2O_INT8_OFFSET = 0;

#elif defined(H2O_HAS_VEC) && defined(H2O_HAS_INT8) && (!defined(__AVX512F__) || defined(__AVX512BW__))
#define H2O_HAS_INT8_SEARCH

// One side of a product has no sign. Without VNNI products meet in 16 bits: four of 127*63 are as much as they hold.
#if defined(H2O_HAS_VNNI)
static constexpr int H2O_INT8_QUERY  = 127;
static constexpr int H2O_INT8_KEY    = 127;
static constexpr int H2O_INT8_OFFSET = 128;
#else
static constexpr int H2O_INT8_QUERY  = 63;
static constexpr int H2O_INT8_KEY    = 63;
static constexpr int H2O_INT8_OFFSET = 64;
#endif

#endif

#ifdef H2O_HAS_INT8_SEARCH

// values that a row holds are a multiple of this
static constexpr int64_t H2O_INT8_STEP = 16;

// keys of a tile, and vectors of queries
static constexpr int H2O_INT8_RM = 4;
static constexpr int H2O_INT8_RN = H2O_GEMM_RN;

// lanes of sums
#if defined(__ARM_FEATURE_DOTPROD)
using h2o_int8_ints = int32x4_t;

static H2O_INLINE h2o_int8_ints h2o_int8_load  (const int32_t * p)                { return vld1q_s32(p); }
static H2O_INLINE h2o_int8_ints h2o_int8_both  (h2o_int8_ints a, h2o_int8_ints b) { return vandq_s32(a, b); }
static H2O_INLINE h2o_vec       h2o_int8_to_f32(h2o_int8_ints x)                  { return vcvtq_f32_s32(x); }
static H2O_INLINE bool          h2o_int8_any   (h2o_int8_ints x)                  { return vmaxvq_s32(x) >= 0; }
#else
using h2o_int8_ints = h2o_int8_lanes::ints;

static H2O_INLINE h2o_int8_ints h2o_int8_load  (const int32_t * p)                { return h2o_int8_lanes::load(p); }
static H2O_INLINE h2o_int8_ints h2o_int8_both  (h2o_int8_ints a, h2o_int8_ints b) { return h2o_int8_lanes::both(a, b); }
static H2O_INLINE h2o_vec       h2o_int8_to_f32(h2o_int8_ints x)                  { return h2o_int8_lanes::to_f32(x); }
static H2O_INLINE bool          h2o_int8_any   (h2o_int8_ints x) { // some lane is not negative
#if defined(__AVX512F__)
    return _mm512_cmpgt_epi32_mask(x, _mm512_set1_epi32(-1)) != 0;
#else
    return _mm256_movemask_ps(_mm256_castsi256_ps(x)) != 0xff;
#endif
}
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)

// queries [H2O_PANEL][d] as columns of eight values: [d/8][H2O_PANEL][8]
static inline void h2o_int8_turn(const int8_t * rows, int64_t d, int8_t * packed) {
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        for (int64_t k = 0; k < d; k += 8) {
            memcpy(packed + k*H2O_PANEL + i*8, rows + i*d + k, 8);
        }
    }
}

// begin [H2O_PANEL] and the products of keys [H2O_INT8_RM][d] and the queries from column `col` on
static H2O_INLINE void h2o_int8_sums(const uint8_t * keys, const int8_t * queries, const int32_t * begin, int64_t col, int64_t d,
        h2o_int8_ints (&sums)[H2O_INT8_RM][H2O_INT8_RN]) {
    // an instruction multiplies two keys by two queries, eight values of each
    int32x4_t acc[H2O_INT8_RM/2][H2O_INT8_RN*2];
    for (auto & row : acc) {
        for (int j = 0; j < H2O_INT8_RN*2; ++j) {
            const int32x2_t two = vld1_s32(begin + col + 2*j);
            row[j] = vcombine_s32(two, two);
        }
    }

    for (int64_t k = 0; k < d; k += 8) {
        int8x16_t q[H2O_INT8_RN*2];
        for (int j = 0; j < H2O_INT8_RN*2; ++j) {
            q[j] = vld1q_s8(queries + k*H2O_PANEL + (col + 2*j)*8);
        }
        for (int i = 0; i < H2O_INT8_RM/2; ++i) {
            const int8_t * at = (const int8_t *) keys + 2*i*d + k;

            const int8x16_t two = vcombine_s8(vld1_s8(at), vld1_s8(at + d));
            for (int j = 0; j < H2O_INT8_RN*2; ++j) {
                acc[i][j] = vmmlaq_s32(acc[i][j], two, q[j]);
            }
        }
    }

    for (int i = 0; i < H2O_INT8_RM/2; ++i) {
        for (int j = 0; j < H2O_INT8_RN; ++j) {
            const int64x2_t a = vreinterpretq_s64_s32(acc[i][2*j]);
            const int64x2_t b = vreinterpretq_s64_s32(acc[i][2*j + 1]);

            sums[2*i]    [j] = vreinterpretq_s32_s64(vtrn1q_s64(a, b));
            sums[2*i + 1][j] = vreinterpretq_s32_s64(vtrn2q_s64(a, b));
        }
    }
}

#else

#if defined(__ARM_FEATURE_DOTPROD)

struct h2o_int8_dot {
    using ints = int32x4_t;

    static ints    load  (const void * p)            { return vreinterpretq_s32_s8(vld1q_s8((const int8_t *) p)); }
    static ints    set1  (int32_t x)                 { return vdupq_n_s32(x); }
    static constexpr int DEPTH = 1;

    static void add(ints & acc, const ints (&q)[DEPTH], const ints (&key)[DEPTH]) {
        acc = vdotq_s32(acc, vreinterpretq_s8_s32(q[0]), vreinterpretq_s8_s32(key[0]));
    }
    static void    keep  (ints &)                    {}
};

#else

struct h2o_int8_dot {
    using lanes = h2o_int8_lanes;
    using ints  = lanes::ints;

    static ints    load  (const void * p) { return lanes::load(p); }
    static ints    set1  (int32_t x)      { return lanes::set1(x); }

#if defined(H2O_HAS_VNNI)
    static constexpr int DEPTH = 1;

    static H2O_INLINE void add(ints & acc, const ints (&q)[DEPTH], const ints (&key)[DEPTH]) { acc = lanes::dot8(acc, key[0], q[0]); }
#else
    static constexpr int DEPTH = 2; // products of so many steps are added up in 16 bits

    static H2O_INLINE void add(ints & acc, const ints (&q)[DEPTH], const ints (&key)[DEPTH]) {
        const ints sum = lanes::add16(lanes::madd8(key[0], q[0]), lanes::madd8(key[1], q[1]));
        acc = lanes::add32(acc, lanes::madd16(sum, lanes::ones16()));
        keep(acc);
    }
#endif

    // in a register from here on: GCC reads it again for each row, or keeps a sum in memory
    static H2O_INLINE void keep(ints & x) {
#ifdef H2O_HAS_ASM
        asm("" : "+v"(x));
#else
        (void) x;
#endif
    }
};

static_assert(h2o_int8_lanes::N == H2O_VEC_N, "a query is a lane of both");

#endif

// queries [H2O_PANEL][d] as columns of four values: [d/4][H2O_PANEL][4]
static inline void h2o_int8_turn(const int8_t * rows, int64_t d, int8_t * packed) {
    h2o_turn(rows, d/4, packed);
}

// begin [H2O_PANEL] and the products of keys [H2O_INT8_RM][d] and the queries from column `col` on
static H2O_INLINE void h2o_int8_sums(const uint8_t * keys, const int8_t * queries, const int32_t * begin, int64_t col, int64_t d,
        h2o_int8_ints (&sums)[H2O_INT8_RM][H2O_INT8_RN]) {
    using dot = h2o_int8_dot;

    for (auto & row : sums) {
        for (int j = 0; j < H2O_INT8_RN; ++j) {
            row[j] = h2o_int8_load(begin + col + j*H2O_VEC_N);
        }
    }

    // two pointers reach all keys by offsets that an address takes; one for each key, and sums would leave the registers
    const uint8_t * low  = keys;
    const uint8_t * high = keys + H2O_INT8_RM/2*d;
    const int8_t  * at   = queries + col*4;

    constexpr int DEPTH = dot::DEPTH;

    for (int64_t k = 0; k < d; k += 4*DEPTH, low += 4*DEPTH, high += 4*DEPTH, at += 4*DEPTH*H2O_PANEL) {
        dot::ints q[H2O_INT8_RN][DEPTH];
#pragma GCC unroll 4
        for (int j = 0; j < H2O_INT8_RN; ++j) {
#pragma GCC unroll 2
            for (int s = 0; s < DEPTH; ++s) {
                q[j][s] = dot::load(at + s*4*H2O_PANEL + j*H2O_VEC_N*4);
                dot::keep(q[j][s]);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < H2O_INT8_RM; ++i) {
            dot::ints key[DEPTH];
#pragma GCC unroll 2
            for (int s = 0; s < DEPTH; ++s) {
                int32_t four;
                memcpy(&four, (i < H2O_INT8_RM/2 ? low + i*d : high + (i - H2O_INT8_RM/2)*d) + 4*s, sizeof(four));
                key[s] = dot::set1(four);
            }
#pragma GCC unroll 4
            for (int j = 0; j < H2O_INT8_RN; ++j) {
                dot::add(sums[i][j], q[j], key);
            }
        }
    }
}

#endif

#endif
