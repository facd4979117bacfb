// Some rows of weights side by side: lane i of a vector has bytes of row i. Every row is at the same byte.

#pragma once

#include "h2o-int8-lanes.h"
#include "h2o-linear-op.h"

#ifdef H2O_HAS_INT8

#include <cstring>

// rows as they lie in a file
struct h2o_int8_plain {
    using V = h2o_int8_lanes;

    static constexpr int INTERLEAVED = 1;

    const uint8_t * first;
    const int64_t   stride;

    // from row n on
    h2o_int8_plain(const h2o_linear_op & op, int64_t expert, int64_t n) :
        first((const uint8_t *) op.weights(expert, n, 0)), stride(op.w->nb[1]) {}

    const uint8_t * row(int i) const { return first + i*stride; }

    // 16 bytes of each row: four vectors of 4 of them
    H2O_INLINE void sixteen(int64_t at, V::ints * res) const {
        V::ints mixed[4]; // of rows i, i + 4 ...
        for (int i = 0; i < 4; ++i) {
            mixed[i] = V::join([&](int j) { return _mm_loadu_si128((const __m128i *) (row(j) + at + i*stride)); });
        }
        const V::ints a = V::low32 (mixed[0], mixed[1]);
        const V::ints b = V::low32 (mixed[2], mixed[3]);
        const V::ints c = V::high32(mixed[0], mixed[1]);
        const V::ints d = V::high32(mixed[2], mixed[3]);
        res[0] = V::low64 (a, b);
        res[1] = V::high64(a, b);
        res[2] = V::low64 (c, d);
        res[3] = V::high64(c, d);
    }

    H2O_INLINE void thirty_two(int64_t at, V::ints * res) const {
        sixteen(at,      res);
        sixteen(at + 16, res + 4);
    }

    // 4 bytes of each row
    H2O_INLINE V::ints four(int64_t at) const {
        const auto load = [&](int i) {
            int32_t x;
            memcpy(&x, row(i) + at, sizeof(x));
            return x;
        };
        return V::join([&](int i) { return _mm_setr_epi32(load(i), load(i + 1), load(i + 2), load(i + 3)); });
    }

    // a half of each row
    H2O_INLINE V::floats f16(int64_t at) const {
        const auto eight = [&](int i) {
            const auto load = [&](int j) {
                uint16_t x;
                memcpy(&x, row(i) + at + j*stride, sizeof(x));
                return x;
            };
            __m128i res = _mm_cvtsi32_si128(load(0));
            res = _mm_insert_epi16(res, load(1), 1);
            res = _mm_insert_epi16(res, load(2), 2);
            res = _mm_insert_epi16(res, load(3), 3);
            res = _mm_insert_epi16(res, load(4), 4);
            res = _mm_insert_epi16(res, load(5), 5);
            res = _mm_insert_epi16(res, load(6), 6);
            return _mm_insert_epi16(res, load(7), 7);
        };
        return V::halves(eight);
    }
};

// as ggml repacks rows for AVX2: eight together, 8 bytes of each in turn
struct h2o_int8_repacked {
    using V = h2o_int8_lanes;

    static constexpr int INTERLEAVED = 8;

    const uint8_t * rows[V::N/8];

    h2o_int8_repacked(const h2o_linear_op & op, int64_t expert, int64_t n) {
        for (int i = 0; i < V::N/8; ++i) {
            rows[i] = (const uint8_t *) op.weights(expert, n + 8*i, 0);
        }
    }

    // 16 bytes of each row: four vectors of 4 of them
    H2O_INLINE void sixteen(int64_t at, V::ints * res) const {
        constexpr int64_t NEXT = V::N == 16 ? 0 : 32; // four more rows, or those of another eight

        for (int i = 0; i < 4; i += 2, at += 64) {
            V::part(V::load(rows[0] + at), V::load(rows[V::N/8 - 1] + at + NEXT), res[i], res[i + 1]);
        }
    }

    // a byte of each row, which are eight together
    H2O_INLINE V::ints one(int64_t at) const {
        const auto eight = [&](int i) { return _mm_loadl_epi64((const __m128i *) (rows[i] + at)); };
        return V::widen8(_mm_unpacklo_epi64(eight(0), eight(V::N/8 - 1)));
    }

    static H2O_INLINE void eight_scales_k(const uint8_t * p, uint64_t & scale, uint64_t & min) {
        uint32_t x[3];
        memcpy(x, p, sizeof(x));
        const auto join = [](uint32_t low, uint32_t high) { return low | (uint64_t) high << 32; };
        scale = join(x[0] & 0x3f3f3f3f, (x[2]      & 0x0f0f0f0f) | (x[0] >> 2 & 0x30303030));
        min   = join(x[1] & 0x3f3f3f3f, (x[2] >> 4 & 0x0f0f0f0f) | (x[1] >> 2 & 0x30303030));
    }

    // eight scales and mins of 6 bits in 12 bytes, one of each row
    H2O_INLINE void scales_k(int64_t at, V::ints & scale, V::ints & min) const {
        uint64_t first[2];
        uint64_t last[2];
        eight_scales_k(rows[0] + at,          first[0], first[1]);
        eight_scales_k(rows[V::N/8 - 1] + at, last[0],  last[1]);
        scale = V::widen8(_mm_set_epi64x((int64_t) last[0], (int64_t) first[0]));
        min   = V::widen8(_mm_set_epi64x((int64_t) last[1], (int64_t) first[1]));
    }

    H2O_INLINE V::floats f16(int64_t at) const {
        return V::halves([&](int i) { return _mm_loadu_si128((const __m128i *) (rows[i/8] + at)); });
    }
};

#endif
