// Activations rounded to 8 bits, with a scale for each block.

#pragma once

#include "h2o-int8-weights.h"

#include "../h2o-vec.h"

#ifdef H2O_HAS_INT8

#include <cstring>

static inline float h2o_max_of(__m256 x) {
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}

static inline int32_t h2o_sum_of(__m256i x) {
    __m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_add_epi32(y, _mm_unpackhi_epi64(y, y));
    return _mm_cvtsi128_si32(_mm_add_epi32(y, _mm_shuffle_epi32(y, 1)));
}

#if defined(H2O_HAS_VEC) && defined(__AVX512BW__)
// sixteen blocks at once, as what their lanes add up to costs more than all else
static inline void h2o_int8_round_many(const float * x, int64_t n_blocks, bool has_min, int offset, int8_t * q, float * scale, int32_t * sum) {
    for (int64_t b = 0; b < n_blocks; b += 16) {
        const int      n    = n_blocks - b < 16 ? n_blocks - b : 16;
        const __mmask16 some = (1u << n) - 1;

        __m512 each[16];
        for (int i = 0; i < 16; ++i) {
            const float * at = x + (b + i)*H2O_INT8_BLOCK;
            each[i] = i < n ? _mm512_max_ps(_mm512_abs_ps(_mm512_loadu_ps(at)), _mm512_abs_ps(_mm512_loadu_ps(at + 16))) : _mm512_setzero_ps();
        }
        const __m512 max = h2o_vec_of_each(each, [](__m512 y, __m512 z) { return _mm512_max_ps(y, z); });
        const __m512 unit = _mm512_div_ps(max, _mm512_set1_ps(127.0f));

        float inverse[16];
        _mm512_storeu_ps(inverse, _mm512_maskz_div_ps(_mm512_cmp_ps_mask(max, _mm512_setzero_ps(), _CMP_GT_OQ), _mm512_set1_ps(127.0f), max));
        _mm512_mask_storeu_ps(scale + b, some, unit);

        for (int i = 0; i < 16; ++i) {
            if (i >= n) {
                each[i] = _mm512_setzero_ps();
                continue;
            }
            const float * at = x + (b + i)*H2O_INT8_BLOCK;
            int8_t      * to = q + (b + i)*H2O_INT8_BLOCK;

            const __m512  by   = _mm512_set1_ps(inverse[i]);
            const __m512i low  = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(at),      by));
            const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(at + 16), by));
            _mm_storeu_si128((__m128i *) to,        _mm512_cvtsepi32_epi8(low));
            _mm_storeu_si128((__m128i *) (to + 16), _mm512_cvtsepi32_epi8(high));

            each[i] = _mm512_castsi512_ps(_mm512_add_epi32(low, high));
        }
        const __m512i total = _mm512_castps_si512(h2o_vec_of_each(each, [](__m512 y, __m512 z) {
            return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(y), _mm512_castps_si512(z)));
        }));
        const __m512i res = has_min
            ? _mm512_castps_si512(_mm512_mul_ps(unit, _mm512_cvtepi32_ps(total)))
            : _mm512_mullo_epi32(total, _mm512_set1_epi32(-offset));
        _mm512_mask_storeu_epi32(sum + b, some, res);
    }
}
#endif

// n values of a row; q, scale and sum as in h2o_int8_rows
static inline void h2o_int8_round(
        const float * x, int64_t n, const h2o_int8_format & format, int8_t * q, float * scale, int32_t * sum) {
#if defined(H2O_HAS_VEC) && defined(__AVX512BW__)
    if (format.n_parts == 1) {
        h2o_int8_round_many(x, n/H2O_INT8_BLOCK, format.has_min, format.offset, q, scale, sum);
        return;
    }
#endif
    const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);

    for (int64_t b = 0; b < n/H2O_INT8_BLOCK; ++b, x += H2O_INT8_BLOCK, q += H2O_INT8_BLOCK) {
        __m256 v[4];
        __m256 most = _mm256_setzero_ps();
        for (int i = 0; i < 4; ++i) {
            v[i] = _mm256_loadu_ps(x + 8*i);
            most = _mm256_max_ps(most, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v[i]));
        }
        const float  max     = h2o_max_of(most);
        const __m256 inverse = _mm256_set1_ps(max > 0.0f ? 127.0f/max : 0.0f);
        scale[b] = max/127.0f;

        __m256i r[4];
        for (int i = 0; i < 4; ++i) {
            r[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
        }
        const __m256i first = _mm256_packs_epi32(r[0], r[1]);
        const __m256i last  = _mm256_packs_epi32(r[2], r[3]);
        _mm256_storeu_si256((__m256i *) q, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, last), order));

        // those of NaN and infinity overflow, and mean nothing
        const uint32_t total[2] = {
            (uint32_t) h2o_sum_of(_mm256_add_epi32(r[0], r[1])), (uint32_t) h2o_sum_of(_mm256_add_epi32(r[2], r[3])),
        };
        if (format.n_parts == 2) {
            *sum++ = (int32_t) (-format.offset*total[0]);
            *sum++ = (int32_t) (-format.offset*total[1]);
        } else if (format.has_min) {
            const float scaled = scale[b]*(int32_t) (total[0] + total[1]);
            memcpy(sum++, &scaled, sizeof(scaled));
        } else {
            *sum++ = (int32_t) (-format.offset*(total[0] + total[1]));
        }
    }
}

#endif
