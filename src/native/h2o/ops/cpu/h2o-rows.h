// Rows of the KV cache as F32.

#pragma once

#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"

#include "ggml-cpu.h"
#include "ggml.h"
#include "simd-mappings.h"

#include <cstdint>

// ggml's own conversions are compiled for any processor or called once a row; these are compiled for the backend's and inline. n is
// the number of values, of blocks of 32 a multiple of that.
static inline void h2o_q8_0_to_float(const void * src, float * buf, int64_t n) {
    const block_q8_0 * blocks = (const block_q8_0 *) src;

    for (int64_t i = 0; i < n/QK8_0; ++i) {
        const float d = GGML_CPU_FP16_TO_FP32(blocks[i].d);
        for (int j = 0; j < QK8_0; ++j) {
            buf[i*QK8_0 + j] = blocks[i].qs[j]*d;
        }
    }
}

static inline void h2o_q4_0_to_float(const void * src, float * buf, int64_t n) {
    const block_q4_0 * blocks = (const block_q4_0 *) src;

    for (int64_t i = 0; i < n/QK4_0; ++i) {
        const float d = GGML_CPU_FP16_TO_FP32(blocks[i].d);
        for (int j = 0; j < QK4_0/2; ++j) {
            buf[i*QK4_0 + j]           = ((blocks[i].qs[j] & 0x0f) - 8)*d;
            buf[i*QK4_0 + j + QK4_0/2] = ((blocks[i].qs[j] >> 4)   - 8)*d;
        }
    }
}

static inline void h2o_f16_to_float(const void * src, float * buf, int64_t n) {
    const ggml_fp16_t * x = (const ggml_fp16_t *) src;

    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        _mm512_storeu_ps(buf + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) (x + i))));
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(buf + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) (x + i))));
    }
#endif
    if (i < n) {
        ggml_cpu_fp16_to_fp32(x + i, buf + i, n - i);
    }
}

// n values of any type into buf
static inline void h2o_row_to_float(ggml_type type, const void * src, float * buf, int64_t n) {
    switch (type) {
        case GGML_TYPE_F16:  h2o_f16_to_float(src, buf, n); break;
        case GGML_TYPE_BF16: ggml_cpu_bf16_to_fp32((const ggml_bf16_t *) src, buf, n); break;
        case GGML_TYPE_F32:  for (int64_t i = 0; i < n; ++i) { buf[i] = ((const float *) src)[i]; } break;
        case GGML_TYPE_Q8_0: h2o_q8_0_to_float(src, buf, n); break;
        case GGML_TYPE_Q4_0: h2o_q4_0_to_float(src, buf, n); break;
        default:             ggml_get_type_traits(type)->to_float(src, buf, n);
    }
}

// Cells that are on their way while one is read: the rows of a head lie apart, where no processor looks ahead.
static constexpr int64_t H2O_AHEAD = 16;

// n bytes into the processor's L2 cache, or with level 1 into L1, for later
template <int level = 2>
static inline void h2o_prefetch(const char * at, size_t n) {
#ifdef __GNUC__
    for (size_t i = 0; i < n; i += 64) {
        __builtin_prefetch(at + i, 0, 4 - level);
    }
#else
    GGML_UNUSED(at);
    GGML_UNUSED(n);
#endif
}

// Cells of one KV head: keys, or values that are not transposed.
struct h2o_cells {
    const char * data;
    size_t       nb; // from cell to cell
    ggml_type    type;
    int64_t      d;
    size_t       size; // of a cell

    h2o_cells(const ggml_tensor * t, int64_t ih) :
        data((const char *) t->data + ih*t->nb[2]), nb(t->nb[1]), type(t->type), d(t->ne[0]), size(ggml_row_size(t->type, d)) {}

    void read(int64_t cell, float * buf) const {
        h2o_row_to_float(type, data + cell*nb, buf, d);
    }

    void prefetch(int64_t cell) const {
        h2o_prefetch(data + cell*nb, size);
    }
};
