// Products of up to eight rows of a KV head and the rows of a block: what queries are to keys, and weights to values. Rows of
// a block are read as they lie in the cache: values that went through memory as F32 took half of the time.

#pragma once

#include "h2o-rows.h"
#include "h2o-vec.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

// value j of a row
static inline float h2o_value_of(const float       * row, int64_t j) { return row[j]; }
static inline float h2o_value_of(const ggml_fp16_t * row, int64_t j) { return GGML_CPU_FP16_TO_FP32(row[j]); }
static inline float h2o_value_of(const ggml_bf16_t * row, int64_t j) { return GGML_BF16_TO_FP32(row[j]); }

static inline float h2o_value_of(const block_q8_0 * row, int64_t j) {
    return row[j/QK8_0].qs[j%QK8_0]*GGML_CPU_FP16_TO_FP32(row[j/QK8_0].d);
}

static inline float h2o_value_of(const block_q4_0 * row, int64_t j) {
    const block_q4_0 & x = row[j/QK4_0];
    const uint8_t      y = x.qs[j%(QK4_0/2)];
    return ((j%QK4_0 < QK4_0/2 ? y & 15 : y >> 4) - 8)*GGML_CPU_FP16_TO_FP32(x.d);
}

// N values of a vector, and how many sums of products the registers hold beside what goes into them. load(row, j): those from j on,
// a multiple of N.
#ifdef H2O_HAS_VEC

struct h2o_lanes {
    static constexpr int N = H2O_VEC_N;
    using vec = h2o_vec;

    static vec   zero()                      { return h2o_vec_zero(); }
    static vec   set1(float x)               { return h2o_vec_set1(x); }
    static void  store(float * x, vec y)     { h2o_vec_store(x, y); }
    static vec   madd(vec sum, vec a, vec b) { return h2o_vec_fma(sum, a, b); }

    static vec load(const float * row, int64_t j) { return h2o_vec_load(row + j); }

    // sums: of each of n vectors, N_SUMS at most; as many are written as a vector has
#if defined(__ARM_NEON)
    static constexpr int N_SUMS = 16;

    static vec load(const ggml_fp16_t * row, int64_t j) { return vcvt_f32_f16(vld1_f16((const __fp16 *) row + j)); }
    static vec load(const ggml_bf16_t * row, int64_t j) {
        return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *) row + j), 16));
    }
    static vec load(const block_q8_0 * row, int64_t j) {
        const block_q8_0 & x = row[j/QK8_0];

        int32_t four;
        memcpy(&four, x.qs + j%QK8_0, sizeof(four));
        const int16x8_t wide = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));

        return vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), GGML_CPU_FP16_TO_FP32(x.d));
    }
    static vec load(const block_q4_0 * row, int64_t j) {
        const float x[4] = { h2o_value_of(row, j), h2o_value_of(row, j + 1), h2o_value_of(row, j + 2), h2o_value_of(row, j + 3) };
        return vld1q_f32(x);
    }

    template <int n>
    static H2O_INLINE void sums(const vec * x, float * sum) {
        for (int i = 0; i < n; ++i) {
            sum[i] = vaddvq_f32(x[i]);
        }
    }
#elif defined(__AVX512F__)
    static constexpr int N_SUMS = 16;

    static vec load(const ggml_fp16_t * row, int64_t j) {
        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) (row + j)));
    }
    static vec load(const ggml_bf16_t * row, int64_t j) {
        const __m256i x = _mm256_loadu_si256((const __m256i *) (row + j));
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
    }
    static vec load(const block_q8_0 * row, int64_t j) {
        const block_q8_0 & x = row[j/QK8_0];
        const __m512i      y = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *) (x.qs + j%QK8_0)));
        return _mm512_mul_ps(_mm512_cvtepi32_ps(y), set1(GGML_CPU_FP16_TO_FP32(x.d)));
    }
    static vec load(const block_q4_0 * row, int64_t j) { // half a block
        const block_q4_0 & x = row[j/QK4_0];
        const __m512i      y = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) x.qs));
        const __m512i      z = j%QK4_0 == 0 ? _mm512_and_si512(y, _mm512_set1_epi32(15)) : _mm512_srli_epi32(y, 4);
        return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(z, _mm512_set1_epi32(8))), set1(GGML_CPU_FP16_TO_FP32(x.d)));
    }

    template <int n>
    static H2O_INLINE void sums(const vec * x, float * sum) {
        vec y[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            y[i] = i < n ? x[i] : zero();
        }
        store(sum, h2o_vec_of_each(y, [](vec a, vec b) { return _mm512_add_ps(a, b); }));
    }
#else
    static constexpr int N_SUMS = 8;

    static vec load(const ggml_fp16_t * row, int64_t j) { return GGML_F32Cx8_LOAD(row + j); }
    static vec load(const ggml_bf16_t * row, int64_t j) {
        const __m128i x = _mm_loadu_si128((const __m128i *) (row + j));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
    }
    static vec load(const block_q8_0 * row, int64_t j) {
        const block_q8_0 & x = row[j/QK8_0];
        const __m256i      y = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) (x.qs + j%QK8_0)));
        return _mm256_mul_ps(_mm256_cvtepi32_ps(y), set1(GGML_CPU_FP16_TO_FP32(x.d)));
    }
    static vec load(const block_q4_0 * row, int64_t j) {
        const block_q4_0 & x = row[j/QK4_0];
        const __m256i      y = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) (x.qs + j%(QK4_0/2))));
        const __m256i      z = j%QK4_0 < QK4_0/2 ? _mm256_and_si256(y, _mm256_set1_epi32(15)) : _mm256_srli_epi32(y, 4);
        return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(z, _mm256_set1_epi32(8))), set1(GGML_CPU_FP16_TO_FP32(x.d)));
    }

    template <int n>
    static H2O_INLINE void sums(const vec * x, float * sum) {
        vec y[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            y[i] = i < n ? x[i] : zero();
        }
        const vec a = _mm256_hadd_ps(_mm256_hadd_ps(y[0], y[1]), _mm256_hadd_ps(y[2], y[3]));
        const vec b = _mm256_hadd_ps(_mm256_hadd_ps(y[4], y[5]), _mm256_hadd_ps(y[6], y[7]));

        store(sum, _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
    }
#endif
};

#else

struct h2o_lanes {
    static constexpr int N      = 1;
    static constexpr int N_SUMS = 8;
    using vec = float;

    static vec   zero()                      { return 0.0f; }
    static vec   set1(float x)               { return x; }
    static void  store(float * x, vec y)     { *x = y; }
    static vec   madd(vec sum, vec a, vec b) { return sum + a*b; }

    template <typename T>
    static vec load(const T * row, int64_t j) { return h2o_value_of(row, j); }

    template <int n>
    static H2O_INLINE void sums(const vec * x, float * sum) { std::copy_n(x, n, sum); }
};

#endif

// rows of a step: each meets two others at least
static constexpr int H2O_STEP = h2o_lanes::N_SUMS/2;

static constexpr int64_t H2O_DECODE_BLOCK = 16;

// memory at data + at[i]*nb, which ascends, or with no list at data + i*nb
struct h2o_places {
    const char    * data;
    const int32_t * at;
    size_t          nb;

    // those of a block: neighbours, as nearly all are, take no loads
    void list(const char ** to, int64_t n) const {
        if (!at || at[n - 1] - at[0] == n - 1) {
            const char * first = data + (at ? at[0]*nb : 0);
            for (int64_t i = 0; i < H2O_DECODE_BLOCK; ++i) {
                to[i] = first + i*nb;
            }
            return;
        }
        for (int64_t i = 0; i < n; ++i) {
            to[i] = data + at[i]*nb;
        }
    }
};

// n rows of values of type T, or of blocks of them. With each of them a piece of memory is fetched that is wanted next: all at once
// would wait for one another.
template <typename T>
struct h2o_block {
    h2o_block(const h2o_places & rows, const h2o_places & ahead, int64_t n, size_t size) : n(n), size(size) {
        rows.list(this->rows, n);
        ahead.list(this->ahead, n);
    }

    const char * rows [H2O_DECODE_BLOCK];
    const char * ahead[H2O_DECODE_BLOCK];

    const int64_t n;
    const size_t  size; // of a row in memory

    const T * row(int64_t i) const { return (const T *) rows[i]; }

    // what lies ahead of bytes [begin, end) of row i
    void fetch(int64_t i, size_t begin, size_t end) const {
        h2o_prefetch<1>(ahead[i] + begin, std::min(end, size) - std::min(begin, size));
    }
};

// Rows of a step lie side by side: [d/N][R][N], the last vectors are not whole. One pointer finds all of them.
template <int R>
static inline int64_t h2o_packed_at(int64_t r, int64_t j) {
    return (j/h2o_lanes::N*R + r)*h2o_lanes::N + j%h2o_lanes::N;
}

// values of a packed row
static inline int64_t h2o_packed_pad(int64_t d) {
    return GGML_PAD(d, h2o_lanes::N);
}

// row(r), d values, times scale, for each row of a step
template <int R, typename F>
static inline void h2o_pack_rows(float * to, int64_t d, float scale, F row) {
    using V = h2o_lanes;

    for (int r = 0; r < R; ++r) {
        const float * x = row(r);

        int64_t j = 0;
        for (; j + V::N <= d; j += V::N) {
            V::store(to + h2o_packed_at<R>(r, j), V::madd(V::zero(), V::load(x, j), V::set1(scale)));
        }
        for (; j < d; ++j) {
            to[h2o_packed_at<R>(r, j)] = x[j]*scale;
        }
    }
}

// What R rows have for a key or a channel takes so many floats, so that a vector of them begins with the same row.
static constexpr int h2o_step_pad(int R) {
    return R <= 2 ? R : R <= 4 ? 4 : 8;
}

// floats behind the end of those that products write too
static constexpr int64_t H2O_STEP_ROOM = 16;

// out [b.n][h2o_step_pad(R)] = the products of R packed rows and those of b, d long
template <int R, typename T>
static inline void h2o_products_of(const float * a, const h2o_block<T> & b, int64_t d, float * out) {
    using V = h2o_lanes;

    constexpr int P = h2o_step_pad(R);
    constexpr int K = std::min(8, V::N_SUMS/P); // rows of b that meet a together

    static_assert(std::max(K*P, (int) V::N) <= H2O_STEP_ROOM, "what is written last has room");

    for (int64_t i = 0; i < b.n; i += K) {
        const T * y[K];
        for (int k = 0; k < K; ++k) {
            y[k] = b.row(std::min(i + k, b.n - 1));
        }
        for (int64_t k = i; k < std::min(i + K, b.n); ++k) {
            b.fetch(k, 0, b.size);
        }

        // unrolled, as sums in a loop would go through the stack
        V::vec acc[K*P];
#pragma GCC unroll 16
        for (int k = 0; k < K*P; ++k) {
            acc[k] = V::zero();
        }

        int64_t j = 0;
        for (; j + V::N <= d; j += V::N) {
            V::vec x[K];
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k) {
                x[k] = V::load(y[k], j);
            }
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const V::vec z = V::load(a, j*R + r*V::N);
#pragma GCC unroll 8
                for (int k = 0; k < K; ++k) {
                    acc[k*P + r] = V::madd(acc[k*P + r], z, x[k]);
                }
            }
        }
        V::sums<K*P>(acc, out + i*P);

        for (; j < d; ++j) {
            for (int r = 0; r < R; ++r) {
                for (int k = 0; k < K; ++k) {
                    out[(i + k)*P + r] += a[h2o_packed_at<R>(r, j)]*h2o_value_of(y[k], j);
                }
            }
        }
    }
}

// channels of c [R][ld_c] from j on += weights [b.n][h2o_step_pad(R)] times rows of b, C vectors of d
template <int R, int C, typename T>
static inline void h2o_add_channels(const float * w, const h2o_block<T> & b, int64_t j, int64_t d, float * c, int64_t ld_c) {
    using V = h2o_lanes;

    V::vec acc[R*C];
#pragma GCC unroll 32
    for (int k = 0; k < R*C; ++k) {
        acc[k] = V::load(c + k/C*ld_c, j + k%C*V::N);
    }
    const size_t begin = b.size*j/d;
    const size_t end   = b.size*(j + C*V::N)/d;

    for (int64_t i = 0; i < b.n; ++i) {
        b.fetch(i, begin, end);

        V::vec x[C];
#pragma GCC unroll 4
        for (int k = 0; k < C; ++k) {
            x[k] = V::load(b.row(i), j + k*V::N);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const V::vec z = V::set1(w[i*h2o_step_pad(R) + r]);
#pragma GCC unroll 4
            for (int k = 0; k < C; ++k) {
                acc[r*C + k] = V::madd(acc[r*C + k], z, x[k]);
            }
        }
    }
#pragma GCC unroll 32
    for (int k = 0; k < R*C; ++k) {
        V::store(c + k/C*ld_c + j + k%C*V::N, acc[k]);
    }
}

// c [R][ld_c] += weights [b.n][h2o_step_pad(R)] times the rows of b, d channels
template <int R, typename T>
static inline void h2o_add_weighted(const float * w, const h2o_block<T> & b, int64_t d, float * c, int64_t ld_c) {
    using V = h2o_lanes;

    constexpr int C = std::min(4, V::N_SUMS/R);

    int64_t j = 0;
    for (; j + C*V::N <= d; j += C*V::N) {
        h2o_add_channels<R, C>(w, b, j, d, c, ld_c);
    }
    for (; j + V::N <= d; j += V::N) {
        h2o_add_channels<R, 1>(w, b, j, d, c, ld_c);
    }
    for (; j < d; ++j) {
        for (int64_t i = 0; i < b.n; ++i) {
            for (int r = 0; r < R; ++r) {
                c[r*ld_c + j] += w[i*h2o_step_pad(R) + r]*h2o_value_of(b.row(i), j);
            }
        }
    }
}

// f(number of rows, first row) for n rows in steps that the kernels above are made for
template <int R = H2O_STEP, typename F>
static inline void h2o_in_steps(int64_t n, F f, int64_t begin = 0) {
    for (; n - begin >= R; begin += R) {
        f(std::integral_constant<int, R>(), begin);
    }
    if constexpr (R > 1) {
        h2o_in_steps<R - 1>(n, f, begin);
    }
}

// rows of n in whole steps: each has h2o_step_pad of it
static inline int64_t h2o_steps_pad(int64_t n) {
    return n/H2O_STEP*H2O_STEP + h2o_step_pad(n%H2O_STEP);
}
