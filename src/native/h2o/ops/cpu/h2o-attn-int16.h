// GGML_H2O_OP_ATTN without votes in 16-bit integers (h2o-gemm-int16.h): over neighbouring keys, or over a set for each
// block of queries. Caches of F32 keep all of their bits, in other kernels.

#pragma once

#include <cstddef>

struct ggml_compute_params;
struct ggml_tensor;

bool   h2o_attn_int16_supported(const ggml_tensor * dst);
void   h2o_forward_attn_int16  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_attn_int16_work_size(const ggml_tensor * dst, int n_tasks);
