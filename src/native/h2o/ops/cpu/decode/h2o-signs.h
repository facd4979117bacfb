// GGML_H2O_OP_SIGNS on the CPU, the index of sparse decoding; see ggml_h2o_signs.

#pragma once

#include "../../ggml-h2o.h"

#include <cstddef>
#include <cstdint>

struct ggml_compute_params;

// x [d][n], channel by channel: the Hadamard matrix over blocks of channels, the largest power of two that divides d
void h2o_rotate(float * x, int64_t d, int64_t n);

// one page and KV head of the index
struct h2o_signs_page {
    h2o_signs_page(const ggml_tensor * signs, int64_t d, int64_t page, int64_t ih) :
        mean((ggml_fp16_t *) ((char *) signs->data + page*signs->nb[1] + ih*signs->nb[2])), scales(mean + d),
        bits((uint8_t *) (scales + GGML_H2O_PAGE)) {}

    ggml_fp16_t * mean;   // [d]
    ggml_fp16_t * scales; // [GGML_H2O_PAGE]
    uint8_t     * bits;   // [(d + 3)/4][GGML_H2O_PAGE/2]
};

void   h2o_forward_signs  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_signs_work_size(const ggml_tensor * dst, int n_tasks);
