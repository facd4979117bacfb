// Products of linear layers in AMX tiles of BF16: weights are unpacked to BF16, a panel at a time, activations once.

#pragma once

#include "ggml.h"

#include <cstddef>

struct ggml_compute_params;

bool   h2o_linear_amx_supported(const ggml_tensor * dst);
void   h2o_linear_amx_forward  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_linear_amx_work_size(const ggml_tensor * dst, int n_tasks);
