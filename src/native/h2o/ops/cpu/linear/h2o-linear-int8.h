// Products of linear layers in 8-bit integers, for x86 processors without AMX: activations are rounded once, weights are
// unpacked a tile at a time. Both keep a scale for each block of 32.

#pragma once

#include "ggml.h"

#include <cstddef>

struct ggml_compute_params;

bool   h2o_linear_int8_supported(const ggml_tensor * dst);
void   h2o_linear_int8_forward  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_linear_int8_work_size(const ggml_tensor * dst, int n_tasks);
