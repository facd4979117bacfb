// Products of linear layers in 16-bit integers (h2o-gemm-int16.h), for many rows: weights are unpacked and rounded a panel at
// a time. For x86 processors without AMX, and types that 8-bit integers do not serve, or not as well.

#pragma once

#include "ggml.h"

#include <cstddef>

struct ggml_compute_params;

bool   h2o_linear_int16_supported(const ggml_tensor * dst);
void   h2o_linear_int16_forward  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_linear_int16_work_size(const ggml_tensor * dst, int n_tasks);
