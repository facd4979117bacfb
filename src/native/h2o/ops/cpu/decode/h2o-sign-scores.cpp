#include "h2o-sign-scores.h"

#include "ggml-cpu.h"
#include "ggml-cpu-impl.h"
#include "vec.h"

#include <algorithm>
#include <cmath>

static constexpr int64_t N = GGML_H2O_PAGE;

// two entries of a table make a byte
static constexpr int H2O_STEPS = 127;

h2o_sign_query::h2o_sign_query(const float * src, int64_t d, float scale, float * work) :
    d(d), n_fours((d + 3)/4), q(work), mean(work + d), tables((uint8_t *) (work + 2*d)) {
    for (int64_t j = 0; j < d; ++j) {
        q[j]    = src[j]*scale;
        mean[j] = q[j];
    }
    float * rotated = mean; // no page is looked at yet
    h2o_rotate(rotated, d, 1);

    const auto at = [&](int64_t j) { return j < d ? rotated[j] : 0.0f; };

    float max = 0.0f;
    for (int64_t f = 0; f < n_fours; ++f) {
        max = std::max(max, fabsf(at(4*f)) + fabsf(at(4*f + 1)) + fabsf(at(4*f + 2)) + fabsf(at(4*f + 3)));
    }
    // of what is no number there is no score, whatever the table holds
    const float per_step = max > 0.0f && max < INFINITY ? H2O_STEPS/(2.0f*max) : 0.0f;

    for (int64_t f = 0; f < n_fours; ++f) {
        for (int m = 0; m < 16; ++m) {
            float sum = max;
            for (int i = 0; i < 4; ++i) {
                sum += m >> i & 1 ? at(4*f + i) : -at(4*f + i);
            }
            tables[f*16 + m] = (uint8_t) std::min<float>(H2O_STEPS, std::max(0.0f, sum*per_step + 0.5f));
        }
    }
    step = 2.0f*max/H2O_STEPS;
    base = -max*n_fours;
}

#if defined(__AVX512BW__)

static void h2o_sum_signs(const uint8_t * bits, const uint8_t * tables, int64_t n_fours, uint16_t * sums) {
    const __m512i low   = _mm512_set1_epi8(15);
    const __m512i even  = _mm512_set1_epi16(255);
    const __m512i shift = _mm512_set_epi64(4, 4, 4, 4, 0, 0, 0, 0);

    const auto look_up = [&](int64_t f) {
        const __m512i two   = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *) (bits + f*N/2)));
        const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *) (tables + f*16)));

        return _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srlv_epi64(two, shift), low));
    };

    __m512i sum_even = _mm512_setzero_si512();
    __m512i sum_odd  = _mm512_setzero_si512();

    const auto add = [&](__m512i x) {
        sum_even = _mm512_add_epi16(sum_even, _mm512_and_si512(x, even));
        sum_odd  = _mm512_add_epi16(sum_odd,  _mm512_srli_epi16(x, 8));
    };

    int64_t f = 0;
    for (; f + 2 <= n_fours; f += 2) {
        add(_mm512_add_epi8(look_up(f), look_up(f + 1)));
    }
    if (f < n_fours) {
        add(look_up(f));
    }

    // by quarters: keys 0..7 and 8..15 of each 16
    const __m512i first  = _mm512_unpacklo_epi16(sum_even, sum_odd);
    const __m512i second = _mm512_unpackhi_epi16(sum_even, sum_odd);

    const __m512i from = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    _mm512_storeu_si512(sums,      _mm512_permutex2var_epi64(first, from, second));
    _mm512_storeu_si512(sums + 32, _mm512_permutex2var_epi64(first, _mm512_add_epi64(from, _mm512_set1_epi64(4)), second));
}

#elif defined(__AVX2__)

static void h2o_sum_signs(const uint8_t * bits, const uint8_t * tables, int64_t n_fours, uint16_t * sums) {
    const __m256i low  = _mm256_set1_epi8(15);
    const __m256i even = _mm256_set1_epi16(255);

    for (int half = 0; half < 2; ++half) {
        const auto look_up = [&](int64_t f) {
            const __m256i two   = _mm256_loadu_si256((const __m256i *) (bits + f*N/2));
            const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (tables + f*16)));

            return _mm256_shuffle_epi8(table, _mm256_and_si256(half ? _mm256_srli_epi16(two, 4) : two, low));
        };

        __m256i sum_even = _mm256_setzero_si256();
        __m256i sum_odd  = _mm256_setzero_si256();

        const auto add = [&](__m256i x) {
            sum_even = _mm256_add_epi16(sum_even, _mm256_and_si256(x, even));
            sum_odd  = _mm256_add_epi16(sum_odd,  _mm256_srli_epi16(x, 8));
        };

        int64_t f = 0;
        for (; f + 2 <= n_fours; f += 2) {
            add(_mm256_add_epi8(look_up(f), look_up(f + 1)));
        }
        if (f < n_fours) {
            add(look_up(f));
        }

        // by halves: keys 0..7 and 8..15 of each 16
        const __m256i first  = _mm256_unpacklo_epi16(sum_even, sum_odd);
        const __m256i second = _mm256_unpackhi_epi16(sum_even, sum_odd);

        _mm256_storeu_si256((__m256i *) (sums + half*N/2),      _mm256_permute2x128_si256(first, second, 0x20));
        _mm256_storeu_si256((__m256i *) (sums + half*N/2 + 16), _mm256_permute2x128_si256(first, second, 0x31));
    }
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

static void h2o_sum_signs(const uint8_t * bits, const uint8_t * tables, int64_t n_fours, uint16_t * sums) {
    for (int at = 0; at < N; at += 16) {
        const auto look_up = [&](int64_t f) {
            const uint8x16_t two = vld1q_u8(bits + f*N/2 + at%(N/2));

            return vqtbl1q_u8(vld1q_u8(tables + f*16), at < N/2 ? vandq_u8(two, vdupq_n_u8(15)) : vshrq_n_u8(two, 4));
        };

        uint16x8_t sum_low  = vdupq_n_u16(0);
        uint16x8_t sum_high = vdupq_n_u16(0);

        const auto add = [&](uint8x16_t x) {
            sum_low  = vaddw_u8     (sum_low,  vget_low_u8(x));
            sum_high = vaddw_high_u8(sum_high, x);
        };

        int64_t f = 0;
        for (; f + 2 <= n_fours; f += 2) {
            add(vaddq_u8(look_up(f), look_up(f + 1)));
        }
        if (f < n_fours) {
            add(look_up(f));
        }
        vst1q_u16(sums + at,     sum_low);
        vst1q_u16(sums + at + 8, sum_high);
    }
}

#else

static void h2o_sum_signs(const uint8_t * bits, const uint8_t * tables, int64_t n_fours, uint16_t * sums) {
    std::fill(sums, sums + N, 0);

    for (int64_t f = 0; f < n_fours; ++f) {
        for (int64_t i = 0; i < N/2; ++i) {
            sums[i]       += tables[f*16 + (bits[f*N/2 + i] & 15)];
            sums[i + N/2] += tables[f*16 + (bits[f*N/2 + i] >> 4)];
        }
    }
}

#endif

void h2o_sign_query::score(h2o_signs_page page, float * scores) const {
    float by_mean;
    ggml_cpu_fp16_to_fp32(page.mean, mean, d);
    ggml_vec_dot_f32(d, &by_mean, 0, q, 0, mean, 0, 1);

    float scales[N];
    ggml_cpu_fp16_to_fp32(page.scales, scales, N);

    uint16_t sums[N];
    h2o_sum_signs(page.bits, tables, n_fours, sums);

    for (int64_t i = 0; i < N; ++i) {
        const float score = by_mean + scales[i]*(step*sums[i] + base);

        scores[i] = score == score ? score : -INFINITY;
    }
}
