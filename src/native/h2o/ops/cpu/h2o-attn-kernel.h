// GGML_H2O_OP_ATTN on the CPU; see ggml_h2o_attn.

#pragma once

#include "ggml.h"

#include <cstddef>

struct ggml_compute_params;

void h2o_forward_attn(const ggml_compute_params * params, ggml_tensor * dst);

size_t h2o_attn_work_size(const ggml_tensor * dst, int n_tasks);
