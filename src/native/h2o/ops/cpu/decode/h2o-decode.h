// GGML_H2O_OP_DECODE on the CPU; see ggml_h2o_decode.

#pragma once

#include <cstddef>

struct ggml_compute_params;
struct ggml_tensor;

void   h2o_forward_decode  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_decode_work_size(const ggml_tensor * dst, int n_tasks);
