#include "h2o-query-channels.h"

#ifdef H2O_HAS_INT8_SEARCH

#include "h2o-rows.h"

#include <numeric>

// queries and keys that say which channels are large
static constexpr int64_t H2O_SAMPLE = 512;

// from one of n to the next; odd, as texts have periods
static int64_t h2o_sample_step(int64_t n) {
    return ((n + H2O_SAMPLE - 1)/H2O_SAMPLE) | 1;
}

// 0, or NaN if some of n values is no number; n is a multiple of H2O_INT8_STEP
static float h2o_find_nan(const float * x, int64_t n) {
    float nan[H2O_INT8_STEP] = {};
    for (int64_t i = 0; i < n; i += H2O_INT8_STEP) {
        for (int j = 0; j < H2O_INT8_STEP; ++j) {
            nan[j] += x[i + j]*0.0f;
        }
    }
    float res = 0.0f;
    for (const float y : nan) {
        res += y;
    }
    return res;
}

int64_t h2o_page_of_mean(const h2o_query_op & op, int64_t ih_kv, int64_t page) {
    if (op.p.n_pages == 0) {
        return -1;
    }
    const int64_t res = std::min<int64_t>(page, op.p.n_pages - 1);

    return h2o_find_nan(op.pages_of(ih_kv) + res*op.d, op.d) == 0.0f ? res : -1;
}

// sums [n] += (x - mean)^2, mean null: 0
static void h2o_add_squares(const float * x, const float * mean, int64_t n, float * sums) {
    if (h2o_find_nan(x, n) != 0.0f) {
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        const float y = mean ? x[i] - mean[i] : x[i];
        sums[i] += y*y;
    }
}

static void h2o_find_channels(const h2o_query_op & op, const h2o_query_work & w, int64_t ih_kv) {
    if (op.n_channels == op.d) {
        std::iota(w.channels, w.channels + op.d, 0);
        return;
    }
    float * of_queries = w.scaled;
    float * of_keys    = w.scaled + op.d;
    float * row        = w.scaled + op.d*2;

    std::fill(of_queries, of_queries + op.d*2, 0.0f);

    for (int64_t i = 0; i < op.n_queries; i += h2o_sample_step(op.n_queries*op.n_group)) {
        for (int64_t ih = ih_kv*op.n_group; ih < (ih_kv + 1)*op.n_group; ++ih) {
            h2o_add_squares(op.q_at(i, ih), nullptr, op.d, of_queries);
        }
    }
    const h2o_cells cells(op.k, ih_kv);
    for (int64_t i = 0; i < op.p.n_cand; i += h2o_sample_step(op.p.n_cand)) {
        const int64_t page = h2o_page_of_mean(op, ih_kv, i/GGML_H2O_PAGE);

        cells.read(i, row);
        h2o_add_squares(row, page < 0 ? nullptr : op.pages_of(ih_kv) + page*op.d, op.d, of_keys);
    }

    for (int64_t i = 0; i < op.d; ++i) {
        w.scores[i] = of_queries[i]*of_keys[i];
    }
    h2o_order_keys(w.scores, op.d, w.keys);
    h2o_take_best(w.keys, op.d, op.n_channels, w.channels);
}

void h2o_choose_channels(const h2o_query_op & op, const h2o_query_work & w, int64_t ih_kv) {
    h2o_find_channels(op, w, ih_kv);

    std::fill(w.masks, w.masks + op.d/16, 0);
    for (int64_t i = 0; i < op.n_channels; ++i) {
        w.masks[w.channels[i]/16] |= 1 << w.channels[i]%16;
    }
}

float h2o_take_channels(const h2o_query_op & op, const h2o_query_work & w, const float * x, const float * mean, float * out) {
#if defined(__AVX512F__)
    __mmask16 finite = 0xffff;

    for (int64_t i = 0; i < op.d; i += 16) {
        const __m512   all  = _mm512_loadu_ps(x + i);
        const __m512   y    = _mm512_sub_ps(all, mean ? _mm512_loadu_ps(mean + i) : _mm512_setzero_ps());
        const uint16_t mask = w.masks[i/16];

        finite &= _mm512_cmp_ps_mask(_mm512_set1_ps(INFINITY), _mm512_abs_ps(all), _CMP_GT_OQ);
        _mm512_storeu_ps(out, _mm512_maskz_compress_ps(mask, y));
        out += _mm_popcnt_u32(mask);
    }
    return finite == 0xffff ? 0.0f : NAN;
#else
    for (int64_t i = 0; i < op.n_channels; ++i) {
        const int64_t at = w.channels[i];
        out[i] = mean ? x[at] - mean[at] : x[at];
    }
    return h2o_find_nan(x, op.d);
#endif
}

#endif
