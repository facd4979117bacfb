// Sums of products over four rows at once, for up to four others: what a query is to keys, and a weight to values.

#pragma once

#include "h2o-vec.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#if defined(__ARM_NEON) && defined(__aarch64__)

struct h2o_lanes {
    static constexpr int64_t N = 4;
    using vec = float32x4_t;

    static vec   zero()                    { return vdupq_n_f32(0.0f); }
    static vec   set1(float x)             { return vdupq_n_f32(x); }
    static vec   load(const float * x)     { return vld1q_f32(x); }
    static void  store(float * x, vec y)   { vst1q_f32(x, y); }
    static vec   madd(vec sum, vec a, vec b) { return vfmaq_f32(sum, a, b); }

    // of each of n vectors, 16 at most
    static void sums(const vec * x, int n, float * sum) {
        for (int i = 0; i < n; ++i) {
            sum[i] = vaddvq_f32(x[i]);
        }
    }
};

#elif defined(H2O_HAS_VEC)

struct h2o_lanes {
    static constexpr int64_t N = GGML_F32_EPR;
    using vec = GGML_F32_VEC;

    static vec   zero()                    { return GGML_F32_VEC_ZERO; }
    static vec   set1(float x)             { return GGML_F32_VEC_SET1(x); }
    static vec   load(const float * x)     { return GGML_F32_VEC_LOAD(x); }
    static void  store(float * x, vec y)   { GGML_F32_VEC_STORE(x, y); }
    static vec   madd(vec sum, vec a, vec b) { return GGML_F32_VEC_FMA(sum, a, b); }

    static void sums(const vec * x, int n, float * sum) {
#ifdef __AVX512F__
        vec y[16];
        for (int i = 0; i < 16; ++i) {
            y[i] = i < n ? x[i] : zero();
        }
        store(sum, h2o_vec_of_each(y, [](vec a, vec b) { return _mm512_add_ps(a, b); }));
#else
        for (int i = 0; i < n; ++i) {
            sum[i] = h2o_vec_reduce_add(x[i]);
        }
#endif
    }
};

#else

struct h2o_lanes {
    static constexpr int64_t N = 1;
    using vec = float;

    static vec   zero()                    { return 0.0f; }
    static vec   set1(float x)             { return x; }
    static vec   load(const float * x)     { return *x; }
    static void  store(float * x, vec y)   { *x = y; }
    static vec   madd(vec sum, vec a, vec b) { return sum + a*b; }

    static void sums(const vec * x, int n, float * sum) { std::copy_n(x, n, sum); }
};

#endif

// Rows that are four each.
struct h2o_four {
    const float * row[4];

    h2o_four operator+(int64_t i) const { return { row[0] + i, row[1] + i, row[2] + i, row[3] + i }; }
};

// out [N][ld], four of each row, = the products of a [N][ld_a] and b, n long
template <int N>
static inline void h2o_products_of(
        const float * a, int64_t ld_a, h2o_four b, int64_t n, float * out, int64_t ld) {
    using V = h2o_lanes;

    V::vec acc[N][4];
    for (int r = 0; r < N; ++r) {
        for (int i = 0; i < 4; ++i) {
            acc[r][i] = V::zero();
        }
    }

    int64_t j = 0;
    for (; j + V::N <= n; j += V::N) {
        V::vec y[4];
        for (int i = 0; i < 4; ++i) {
            y[i] = V::load(b.row[i] + j);
        }
        for (int r = 0; r < N; ++r) {
            const V::vec x = V::load(a + r*ld_a + j);
            for (int i = 0; i < 4; ++i) {
                acc[r][i] = V::madd(acc[r][i], x, y[i]);
            }
        }
    }

    float sums[16];
    V::sums(&acc[0][0], 4*N, sums);

    for (; j < n; ++j) {
        for (int r = 0; r < N; ++r) {
            for (int i = 0; i < 4; ++i) {
                sums[4*r + i] += a[r*ld_a + j]*b.row[i][j];
            }
        }
    }
    for (int r = 0; r < N; ++r) {
        std::copy_n(sums + 4*r, 4, out + r*ld);
    }
}

// c [N][ld_c] += four weights of each row of w [N][ld_w] times b, n long
template <int N>
static inline void h2o_add_weighted(
        const float * w, int64_t ld_w, h2o_four b, int64_t n, float * c, int64_t ld_c) {
    using V = h2o_lanes;

    V::vec x[N][4];
    for (int r = 0; r < N; ++r) {
        for (int i = 0; i < 4; ++i) {
            x[r][i] = V::set1(w[r*ld_w + i]);
        }
    }

    int64_t j = 0;
    for (; j + V::N <= n; j += V::N) {
        V::vec y[4];
        for (int i = 0; i < 4; ++i) {
            y[i] = V::load(b.row[i] + j);
        }
        for (int r = 0; r < N; ++r) {
            V::vec sum = V::load(c + r*ld_c + j);
            for (int i = 0; i < 4; ++i) {
                sum = V::madd(sum, x[r][i], y[i]);
            }
            V::store(c + r*ld_c + j, sum);
        }
    }
    for (; j < n; ++j) {
        for (int r = 0; r < N; ++r) {
            for (int i = 0; i < 4; ++i) {
                c[r*ld_c + j] += w[r*ld_w + i]*b.row[i][j];
            }
        }
    }
}

// f(number of rows, first row) for n rows in steps that the kernels above are made for
template <typename F>
static inline void h2o_in_steps(int64_t n, F f) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f(std::integral_constant<int, 4>(), i);
    }
    switch (n - i) {
        case 3: f(std::integral_constant<int, 3>(), i); break;
        case 2: f(std::integral_constant<int, 2>(), i); break;
        case 1: f(std::integral_constant<int, 1>(), i); break;
        default: break;
    }
}
