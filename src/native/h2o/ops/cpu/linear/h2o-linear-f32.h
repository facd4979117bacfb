// Products of linear layers in F32: weights are unpacked a panel at a time, activations are taken as they are. For x86
// processors without AMX, and types that 8-bit integers do not serve.

#pragma once

#include "ggml.h"

#include <cstddef>

struct ggml_compute_params;

bool   h2o_linear_f32_supported(const ggml_tensor * dst);
void   h2o_linear_f32_forward  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_linear_f32_work_size(const ggml_tensor * dst, int n_tasks);
