#include "h2o-select.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

void h2o_order_keys(const float * scores, int64_t n, int32_t * keys) {
    for (int64_t i = 0; i < n; ++i) {
        const float score = std::isnan(scores[i]) ? -INFINITY : scores[i] + 0.0f; // of two zeros one

        int32_t x;
        memcpy(&x, &score, sizeof(x));
        keys[i] = x < 0 ? x ^ INT32_MAX : x;
    }
}

int64_t h2o_count_from(const int32_t * keys, int64_t n, int32_t least) {
    int32_t res = 0;
    for (int64_t i = 0; i < n; ++i) {
        res += keys[i] >= least;
    }
    return res;
}

// bit by bit: each step is a count that vectors do
int32_t h2o_least_of_best(const int32_t * keys, int64_t n, int64_t n_take) {
    int32_t least = h2o_count_from(keys, n, 0) >= n_take ? 0 : INT32_MIN;
    for (int32_t bit = 1 << 30; bit > 0; bit >>= 1) {
        if (h2o_count_from(keys, n, least + bit) >= n_take) {
            least += bit;
        }
    }
    return least;
}

int64_t h2o_take_best(const int32_t * keys, int64_t n, int64_t n_take, int32_t * out) {
    if (n <= n_take) {
        std::iota(out, out + n, 0);
        return n;
    }
    if (n_take == 0) {
        return 0;
    }
    return h2o_take_from(keys, n, h2o_least_of_best(keys, n, n_take), n_take, out);
}

int64_t h2o_take_from(const int32_t * keys, int64_t n, int32_t least, int64_t n_take, int32_t * out) {
    // the first of those that are as good as the least
    int64_t n_ties = n_take - (least == INT32_MAX ? 0 : h2o_count_from(keys, n, least + 1));
    int64_t n_out  = 0;

    int32_t i = 0;
#if defined(__AVX512F__)
    const __m512i bar = _mm512_set1_epi32(least);
    for (; i + 16 <= n && n_out < n_take; i += 16) {
        const __m512i x = _mm512_loadu_si512(keys + i);

        uint32_t taken = _mm512_cmpgt_epi32_mask(x, bar);
        for (uint32_t ties = _mm512_cmpeq_epi32_mask(x, bar); ties != 0 && n_ties > 0; ties &= ties - 1, --n_ties) {
            taken |= ties & ~(ties - 1);
        }
        const __m512i at  = _mm512_add_epi32(_mm512_set1_epi32(i), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
        const int     n_x = _mm_popcnt_u32(taken);
        _mm512_mask_storeu_epi32(out + n_out, (1u << n_x) - 1, _mm512_maskz_compress_epi32(taken, at));
        n_out += n_x;
    }
#endif
    for (; n_out < n_take; ++i) {
        if (keys[i] > least || (keys[i] == least && n_ties-- > 0)) {
            out[n_out++] = i;
        }
    }
    return n_out;
}

void h2o_select_head(
        const h2o_tracked_head   & tracked,
        const ggml_h2o_op_params & params,
        void                     * work,
        int32_t                  * out) {
    const ggml_h2o_tracked & n = tracked.n;

    float   * score = (float *) work;
    int32_t * keys  = (int32_t *) (score + n.n_mem + n.n_chunk);
    int32_t * at    = keys + n.n_mem + n.n_chunk;
    int32_t * best  = at   + n.n_mem + n.n_chunk;

    const int32_t pos         = params.pos;
    const int32_t local_begin = std::max(0, pos - params.n_local);

    // candidates: tracked positions before Local
    int32_t n_cand = 0;

    for (int32_t i = 0; i < n.n_mem && tracked.mem_pos[i] < std::min(n.mem_end, local_begin); ++i) {
        score[n_cand] = tracked.mem_score[i];
        at   [n_cand++] = tracked.mem_pos[i];
    }
    for (int32_t i = 0; i < n.n_chunk && n.chunk_pos + i < local_begin; ++i) {
        score[n_cand] = tracked.chunk_score[i];
        at   [n_cand++] = n.chunk_pos + i;
    }

    // Heavy: the top of them, ascending
    h2o_order_keys(score, n_cand, keys);
    const int32_t n_take = h2o_take_best(keys, n_cand, params.n_heavy, best);
    const int32_t n_fill = std::min(params.n_heavy, local_begin) - n_take;

    // merge in the lowest positions that are left, until Heavy is full
    int32_t n_out  = 0;
    int32_t i_take = 0;
    int32_t n_left = n_fill;

    for (int32_t p = 0; n_left > 0; ++p) {
        if (i_take < n_take && at[best[i_take]] == p) {
            ++i_take;
        } else {
            --n_left;
        }
        out[n_out++] = p;
    }
    while (i_take < n_take) {
        out[n_out++] = at[best[i_take++]];
    }

    for (int32_t p = local_begin; p < pos; ++p) {
        out[n_out++] = p;
    }
}

void h2o_lookup_head(
        const h2o_tracked_head & tracked,
        const int32_t          * set,
        int64_t                  n_set,
        float                  * out) {
    const ggml_h2o_tracked & n = tracked.n;

    int32_t im = 0;

    for (int64_t i = 0; i < n_set; ++i) {
        const int32_t p = set[i];

        while (im < n.n_mem && tracked.mem_pos[im] < p) {
            ++im;
        }

        if (im < n.n_mem && tracked.mem_pos[im] == p && p < n.mem_end) {
            out[i] = tracked.mem_score[im];
        } else if (p >= n.chunk_pos && p < n.chunk_pos + n.n_chunk) {
            out[i] = tracked.chunk_score[p - n.chunk_pos];
        } else {
            out[i] = 0.0f;
        }
    }
}
