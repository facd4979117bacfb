// The product of a few rows of activations and a tile of weights, both 8-bit integers with scales. Sums of a block are
// integers; they are scaled and added up in F32. Each output is one chain in the order of the blocks.

#pragma once

#include "h2o-int8-weights.h"

#include <cstring>

#ifdef H2O_HAS_INT8

// a sum as it is now: compilers turn chains of integer sums into trees, whose terms do not fit the registers
#if defined(H2O_HAS_ASM) && !defined(H2O_HAS_VNNI)
#define H2O_PIN(x) asm volatile("" : "+v"(x))
#else
#define H2O_PIN(x)
#endif

// rows of activations from some block on
struct h2o_int8_rows {
    const int8_t  * q;     // [rows][ld_q]
    const float   * scale; // [rows][ld]
    const int32_t * sum;   // [rows][ld*parts]: of q, times -offset; with mins the F32 of scale*sum
    int64_t         ld_q;
    int64_t         ld;

    h2o_int8_rows from(int64_t i, int n_parts) const { return { q + i*ld_q, scale + i*ld, sum + i*ld*n_parts, ld_q, ld }; }
};

// how many sums of two products fit 16 bits: bits of a weight by the 8 of an activation
constexpr int h2o_int8_group(int bits) {
    return bits <= 4 ? 8 : bits == 5 ? 4 : 2;
}

// whether a block has several such groups
constexpr bool h2o_int8_is_grouped(h2o_int8_format format) {
    return H2O_INT8_WIDENS && (format.bits == 5 || format.bits == 6);
}

// With 32 registers, totals stay in them, too.
#if defined(__AVX512F__)
static constexpr bool H2O_INT8_KEEPS = true;
#else
static constexpr bool H2O_INT8_KEEPS = false;
#endif

// rows that the kernel takes at once, by what the registers hold; sums of groups need others beside them
constexpr int h2o_int8_rows_at_once(h2o_int8_format format) {
    return H2O_INT8_KEEPS || !H2O_INT8_WIDENS ? 6 : h2o_int8_is_grouped(format) ? 3 : 4;
}

// two vectors of each of RM rows: integers of a block, and totals of all
template <int RM>
struct h2o_int8_sums {
    h2o_int8_lanes::ints a;
    h2o_int8_lanes::ints b;
    h2o_int8_sums<RM - 1> rest;
};

template <>
struct h2o_int8_sums<0> {};

template <int RM>
struct h2o_int8_totals {
    h2o_int8_lanes::floats a;
    h2o_int8_lanes::floats b;
    h2o_int8_totals<RM - 1> rest;
};

template <>
struct h2o_int8_totals<0> {};

// 4 bytes of each of two vectors of weights
struct h2o_int8_pair {
    h2o_int8_lanes::ints a;
    h2o_int8_lanes::ints b;

    explicit h2o_int8_pair(const uint8_t * w) : a(h2o_int8_lanes::load(w)), b(h2o_int8_lanes::load(w + sizeof(a))) {}
};

struct h2o_int8_first {
    static H2O_INLINE void add(h2o_int8_lanes::ints & sum, h2o_int8_lanes::ints w, h2o_int8_lanes::ints x) { sum = h2o_int8_lanes::madd8(w, x); }
};

struct h2o_int8_next {
    static H2O_INLINE void add(h2o_int8_lanes::ints & sum, h2o_int8_lanes::ints w, h2o_int8_lanes::ints x) {
        sum = h2o_int8_lanes::add16(sum, h2o_int8_lanes::madd8(w, x));
    }
};

// both with signs: that of the weights goes to the activations
struct h2o_int8_signed {
    static H2O_INLINE void add(h2o_int8_lanes::ints & sum, h2o_int8_lanes::ints w, h2o_int8_lanes::ints x) {
        using V = h2o_int8_lanes;
        sum = V::add32(sum, V::madd16(V::madd8(V::abs8(w), V::sign8(x, w)), V::ones16()));
    }
};

#if defined(H2O_HAS_VNNI)
struct h2o_int8_vnni {
    static H2O_INLINE void add(h2o_int8_lanes::ints & sum, h2o_int8_lanes::ints w, h2o_int8_lanes::ints x) { sum = h2o_int8_lanes::dot8(sum, w, x); }
};
#endif

template <typename T, int RM>
static H2O_INLINE void h2o_int8_step(h2o_int8_sums<RM> & sums, const h2o_int8_pair & w, const int8_t * x, int64_t ld) {
    int32_t four;
    memcpy(&four, x, sizeof(four));
    const h2o_int8_lanes::ints xv = h2o_int8_lanes::set1(four);
    T::add(sums.a, w.a, xv);
    H2O_PIN(sums.a);
    T::add(sums.b, w.b, xv);
    H2O_PIN(sums.b);
    if constexpr (RM > 1) {
        h2o_int8_step<T, RM - 1>(sums.rest, w, x + ld, ld);
    }
}

// N steps; a loop would be left as it is
template <typename T, int N, int RM>
static H2O_INLINE void h2o_int8_steps(h2o_int8_sums<RM> & sums, const uint8_t * w, const int8_t * x, int64_t ld) {
    h2o_int8_step<T, RM>(sums, h2o_int8_pair(w), x, ld);
    if constexpr (N > 1) {
        h2o_int8_steps<T, N - 1, RM>(sums, w + sizeof(h2o_int8_pair), x + 4, ld);
    }
}

// sums += sums of 16 bits
template <int RM>
static H2O_INLINE void h2o_int8_widen(h2o_int8_sums<RM> & sums, const h2o_int8_sums<RM> & part) {
    using V = h2o_int8_lanes;
    sums.a = V::add32(sums.a, V::madd16(part.a, V::ones16()));
    sums.b = V::add32(sums.b, V::madd16(part.b, V::ones16()));
    if constexpr (RM > 1) {
        h2o_int8_widen<RM - 1>(sums.rest, part.rest);
    }
}

// sums += weights x activations over N_STEPS times 4 bytes of each
template <int BITS, int N_STEPS, int RM>
static H2O_INLINE void h2o_int8_dot(h2o_int8_sums<RM> & sums, const uint8_t * w, const int8_t * x, int64_t ld) {
#if defined(H2O_HAS_VNNI)
    h2o_int8_steps<h2o_int8_vnni, N_STEPS, RM>(sums, w, x, ld);
#else
    if constexpr (BITS == 8) {
        h2o_int8_steps<h2o_int8_signed, N_STEPS, RM>(sums, w, x, ld);
    } else {
        constexpr int64_t NEXT  = sizeof(h2o_int8_pair);
        constexpr int     GROUP = h2o_int8_group(BITS) < N_STEPS ? h2o_int8_group(BITS) : N_STEPS;

        for (int g = 0; g < N_STEPS; g += GROUP) {
            h2o_int8_sums<RM> part;
            h2o_int8_step<h2o_int8_first, RM>(part, h2o_int8_pair(w + g*NEXT), x + 4*g, ld);
            h2o_int8_steps<h2o_int8_next, GROUP - 1, RM>(part, w + (g + 1)*NEXT, x + 4*(g + 1), ld);
            h2o_int8_widen<RM>(sums, part);
        }
    }
#endif
}

template <bool OFFSET, int RM>
static H2O_INLINE void h2o_int8_start(h2o_int8_sums<RM> & sums, const int32_t * sum, int64_t ld) {
    sums.a = sums.b = h2o_int8_lanes::set1(OFFSET ? *sum : 0);
    if constexpr (RM > 1) {
        h2o_int8_start<OFFSET, RM - 1>(sums.rest, sum + ld, ld);
    }
}

// from c, or zeros
template <int RM>
static H2O_INLINE void h2o_int8_load(h2o_int8_totals<RM> & totals, const float * c, int64_t ldc, bool add) {
    totals.a = add ? h2o_int8_lanes::loadf(c)                : h2o_int8_lanes::zeros();
    totals.b = add ? h2o_int8_lanes::loadf(c + h2o_int8_lanes::N) : h2o_int8_lanes::zeros();
    if constexpr (RM > 1) {
        h2o_int8_load<RM - 1>(totals.rest, c + ldc, ldc, add);
    }
}

template <int RM>
static H2O_INLINE void h2o_int8_store(const h2o_int8_totals<RM> & totals, float * c, int64_t ldc) {
    h2o_int8_lanes::store(c,                totals.a);
    h2o_int8_lanes::store(c + h2o_int8_lanes::N, totals.b);
    if constexpr (RM > 1) {
        h2o_int8_store<RM - 1>(totals.rest, c + ldc, ldc);
    }
}

// totals += sums, scaled
template <bool HAS_MIN, int RM>
static H2O_INLINE void h2o_int8_scale(
        h2o_int8_totals<RM> & totals, const h2o_int8_sums<RM> & sums, const float * scale, const int32_t * sum, int64_t ld,
        const float * w, const float * min) {
    using V = h2o_int8_lanes;

    const V::floats xv = V::set1f(*scale);
    totals.a = V::fma(V::to_f32(sums.a), V::mul(V::loadf(w),        xv), totals.a);
    totals.b = V::fma(V::to_f32(sums.b), V::mul(V::loadf(w + V::N), xv), totals.b);
    if constexpr (HAS_MIN) {
        const V::floats total = V::cast(V::set1(*sum));
        totals.a = V::fma(V::loadf(min),        total, totals.a);
        totals.b = V::fma(V::loadf(min + V::N), total, totals.b);
    }
    if constexpr (RM > 1) {
        h2o_int8_scale<HAS_MIN, RM - 1>(totals.rest, sums.rest, scale + ld, sum + ld, ld, w, min);
    }
}

// c [RM][ldc], H2O_INT8_COLS of each, = rows x tile over n_blocks, or added to what is there
template <ggml_type TYPE, int RM>
static void h2o_int8_kernel(
        int64_t n_blocks, const h2o_int8_rows & x, const h2o_int8_tile & w, float * c, int64_t ldc, bool add) {
    constexpr h2o_int8_format FORMAT = h2o_int8_format_of(TYPE);

    constexpr int PARTS  = FORMAT.n_parts;
    constexpr int N_PART = H2O_INT8_BLOCK/PARTS; // values of a row

    // rows of the result are far from each other: the next ones are not there in time by themselves
    for (int64_t i = RM; i < 2*RM; ++i) {
        for (int64_t j = 0; j < H2O_INT8_COLS; j += 16) {
            _mm_prefetch((const char *) (c + i*ldc + j), _MM_HINT_T0);
        }
    }

    h2o_int8_totals<RM> totals;
    if (H2O_INT8_KEEPS) {
        h2o_int8_load<RM>(totals, c, ldc, add);
    }
    for (int64_t p = 0; p < n_blocks*PARTS; ++p) {
        const int64_t b = p/PARTS;

        h2o_int8_sums<RM> sums;
        h2o_int8_start<FORMAT.offset != 0, RM>(sums, x.sum + p, x.ld*PARTS);
        h2o_int8_dot<FORMAT.bits, N_PART/4, RM>(sums, w.q + p*N_PART*H2O_INT8_COLS, x.q + p*N_PART, x.ld_q);

        if (!H2O_INT8_KEEPS) {
            h2o_int8_load<RM>(totals, c, ldc, add || p > 0);
        }
        h2o_int8_scale<FORMAT.has_min, RM>(
            totals, sums, x.scale + b, x.sum + b, x.ld, w.scale + p*H2O_INT8_COLS, w.min + b*H2O_INT8_COLS);
        if (!H2O_INT8_KEEPS) {
            h2o_int8_store<RM>(totals, c, ldc);
        }
    }
    if (H2O_INT8_KEEPS) {
        h2o_int8_store<RM>(totals, c, ldc);
    }
}

#endif
