// Online softmax between two products in AMX tiles. Weights and maxima are powers of two.

#pragma once

#include "h2o-amx.h"

#ifdef H2O_HAS_AMX

#include "h2o-bf16.h"
#include "h2o-exp2.h"
#include "h2o-vec.h"

#include <cfloat>

// The logits of 16 rows over n keys, whole tiles, become weights relative to the largest logit so far. Sums and maxima move
// on, and so does what is summed in o [16][ld_o]. A row that has seen nothing has a maximum of -inf and a sum of 0.
//   logits, weights [16][ld]
//   max, sum        [16]
static inline void h2o_amx_weigh(
        const float * logits, h2o_split weights, int64_t ld, int64_t n, float * max, float * sum, float * o, int64_t ld_o) {
    __m512 lanes[16];

    for (int i = 0; i < 16; ++i) {
        __m512 most = _mm512_set1_ps(-INFINITY);
        for (int64_t j = 0; j < n; j += 16) {
            most = h2o_vec_max(_mm512_loadu_ps(logits + i*ld + j), most);
        }
        lanes[i] = most;
    }
    const __m512 before = _mm512_loadu_ps(max);
    const __m512 now    = h2o_vec_max(_mm512_mul_ps(h2o_vec_of_each(lanes, h2o_vec_max), _mm512_set1_ps(H2O_LOG2E)), before);
    const __m512 from   = h2o_vec_max(now, _mm512_set1_ps(-FLT_MAX)); // a number also where nothing is seen
    const __m512 left   = h2o_exp2(_mm512_sub_ps(before, from));

    _mm512_storeu_ps(max, now);

    float shift[16];
    float scale[16];
    _mm512_storeu_ps(shift, from);
    _mm512_storeu_ps(scale, left);

    for (int i = 0; i < 16; ++i) {
        const __m512 less = _mm512_set1_ps(-shift[i]);

        __m512 all = _mm512_setzero_ps();
        for (int64_t j = 0; j < n; j += 32) {
            const float * x = logits + i*ld + j;
            const __m512  a = h2o_exp2(_mm512_fmadd_ps(_mm512_loadu_ps(x),      _mm512_set1_ps(H2O_LOG2E), less));
            const __m512  b = h2o_exp2(_mm512_fmadd_ps(_mm512_loadu_ps(x + 16), _mm512_set1_ps(H2O_LOG2E), less));

            all = _mm512_add_ps(all, _mm512_add_ps(a, b));
            _mm512_storeu_si512(weights.hi + i*ld + j, h2o_pair(h2o_half_up(a), h2o_half_up(b)));
            _mm512_storeu_si512(weights.lo + i*ld + j, h2o_pair_rest(a, h2o_half_up(a), b, h2o_half_up(b)));
        }
        lanes[i] = all;

        for (int64_t j = 0; j < ld_o && scale[i] != 1.0f; j += 16) {
            _mm512_storeu_ps(o + i*ld_o + j, _mm512_mul_ps(_mm512_loadu_ps(o + i*ld_o + j), _mm512_set1_ps(scale[i])));
        }
    }
    const auto add = [](__m512 x, __m512 y) { return _mm512_add_ps(x, y); };
    _mm512_storeu_ps(sum, _mm512_fmadd_ps(_mm512_loadu_ps(sum), left, h2o_vec_of_each(lanes, add)));
}

#endif
