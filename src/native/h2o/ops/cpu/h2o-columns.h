// Rows of logits with the queries side by side: what the keys of a set are to a panel of queries. A maximum or a sum
// over the keys is then a vector operation, and the keys are read as they lie in the cache, without a transposition.

#pragma once

#include "h2o-gemm.h"
#include "h2o-vec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

// columns come in steps: whole vectors on every processor
static constexpr int64_t H2O_COL_STEP = 16;

static_assert(H2O_COL_STEP % H2O_GEMM_COLS == 0, "a step of columns holds whole vectors");

static inline int64_t h2o_col_pad(int64_t n) {
    return GGML_PAD(n, H2O_COL_STEP);
}

// the queries of a panel, as the right side of h2o_gemm: [d][n_cols], zeros past the last query
// row(i): the values of query i
template <typename F>
static inline void h2o_pack_queries(float * panel, int64_t n_cols, int64_t d, int64_t n, float scale, F row) {
    for (int64_t i = 0; i < n; ++i) {
        const float * q = row(i);

        for (int64_t j = 0; j < d; ++j) {
            panel[j*n_cols + i] = q[j]*scale;
        }
    }
    for (int64_t j = 0; j < d; ++j) {
        std::fill(panel + j*n_cols + n, panel + (j + 1)*n_cols, 0.0f);
    }
}

// max [n_cols] = max(max, x) of every row; NaN does not count
static inline void h2o_columns_max(const float * x, int64_t n_rows, int64_t n_cols, float * max) {
#ifdef H2O_HAS_VEC
    int64_t j = 0;
    const auto take = [&](auto n) { // vectors side by side: each waits for its row before
        constexpr int n_vec = decltype(n)::value;

        for (; j + n_vec*H2O_VEC_N <= n_cols; j += n_vec*H2O_VEC_N) {
            h2o_vec y[n_vec];
            for (int k = 0; k < n_vec; ++k) {
                y[k] = h2o_vec_load(max + j + k*H2O_VEC_N);
            }
            for (int64_t i = 0; i < n_rows; ++i) {
                for (int k = 0; k < n_vec; ++k) {
                    y[k] = h2o_vec_max(h2o_vec_load(x + i*n_cols + j + k*H2O_VEC_N), y[k]);
                }
            }
            for (int k = 0; k < n_vec; ++k) {
                h2o_vec_store(max + j + k*H2O_VEC_N, y[k]);
            }
        }
    };
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 1>());
#else
    for (int64_t i = 0; i < n_rows; ++i) {
        for (int64_t j = 0; j < n_cols; ++j) {
            max[j] = x[i*n_cols + j] > max[j] ? x[i*n_cols + j] : max[j];
        }
    }
#endif
}

// sum [n_cols] += exp(x + shift) of every row, which x becomes
static inline void h2o_columns_exp(float * x, int64_t n_rows, int64_t n_cols, const float * shift, float * sum) {
#ifdef H2O_HAS_VEC
    for (int64_t j = 0; j < n_cols; j += H2O_VEC_N) {
        const h2o_vec add = h2o_vec_load(shift + j);

        h2o_vec s = h2o_vec_load(sum + j);
        for (int64_t i = 0; i < n_rows; ++i) {
            float * at = x + i*n_cols + j;

            const h2o_vec y = h2o_vec_exp(h2o_vec_add(h2o_vec_load(at), add));
            h2o_vec_store(at, y);
            s = h2o_vec_add(s, y);
        }
        h2o_vec_store(sum + j, s);
    }
#else
    for (int64_t i = 0; i < n_rows; ++i) {
        for (int64_t j = 0; j < n_cols; ++j) {
            const float y = expf(x[i*n_cols + j] + shift[j]);
            x[i*n_cols + j] = y;
            sum[j] += y;
        }
    }
#endif
}

// the same without a change of x; NaN counts as 0
static inline void h2o_columns_sum_exp(const float * x, int64_t n_rows, int64_t n_cols, const float * shift, float * sum) {
#ifdef H2O_HAS_VEC
    const h2o_vec least = h2o_vec_set1(-INFINITY);

    for (int64_t j = 0; j < n_cols; j += H2O_VEC_N) {
        const h2o_vec add = h2o_vec_load(shift + j);

        h2o_vec s = h2o_vec_load(sum + j);
        for (int64_t i = 0; i < n_rows; ++i) {
            s = h2o_vec_add(s, h2o_vec_exp(h2o_vec_max(h2o_vec_add(h2o_vec_load(x + i*n_cols + j), add), least)));
        }
        h2o_vec_store(sum + j, s);
    }
#else
    for (int64_t i = 0; i < n_rows; ++i) {
        for (int64_t j = 0; j < n_cols; ++j) {
            const float y = x[i*n_cols + j] + shift[j];
            sum[j] += y > -INFINITY ? expf(y) : 0.0f;
        }
    }
#endif
}

// the largest of x [n_cols] + shift [n_cols]; NaN does not count. Of one row:
static inline float h2o_row_max_shifted(const float * x, const float * shift, int64_t n_cols) {
#ifdef H2O_HAS_VEC
    h2o_vec max = h2o_vec_set1(-INFINITY);
    for (int64_t i = 0; i < n_cols; i += H2O_VEC_N) {
        max = h2o_vec_max(h2o_vec_add(h2o_vec_load(x + i), h2o_vec_load(shift + i)), max);
    }
    return h2o_vec_reduce_max(max);
#else
    float max = -INFINITY;
    for (int64_t i = 0; i < n_cols; ++i) {
        max = x[i] + shift[i] > max ? x[i] + shift[i] : max;
    }
    return max;
#endif
}

// The same of n_rows rows of H2O_PANEL: max [n_rows].
static inline void h2o_rows_max_shifted(const float * x, int64_t n_rows, const float * shift, float * max) {
    int64_t i = 0;
#if defined(H2O_HAS_VEC) && defined(__AVX512F__)
    __m512 add[H2O_PANEL/16];
    for (int j = 0; j < H2O_PANEL/16; ++j) {
        add[j] = _mm512_loadu_ps(shift + 16*j);
    }
    // sixteen rows to a vector each, whose maxima a transposition brings side by side
    for (; i + 16 <= n_rows; i += 16) {
        __m512 y[16];
        for (int k = 0; k < 16; ++k) {
            const float * row = x + (i + k)*H2O_PANEL;

            __m512 most = _mm512_set1_ps(-INFINITY);
            for (int j = 0; j < H2O_PANEL/16; ++j) {
                most = h2o_vec_max(_mm512_add_ps(_mm512_loadu_ps(row + 16*j), add[j]), most);
            }
            y[k] = most;
        }
        _mm512_storeu_ps(max + i, h2o_vec_of_each(y, h2o_vec_max));
    }
#endif
    for (; i < n_rows; ++i) {
        max[i] = h2o_row_max_shifted(x + i*H2O_PANEL, shift, H2O_PANEL);
    }
}
