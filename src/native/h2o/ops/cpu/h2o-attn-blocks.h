// GGML_H2O_OP_ATTN on the CPU where every block of queries has a memory set of its own.

#pragma once

#include <cstddef>

struct ggml_compute_params;
struct ggml_tensor;

void   h2o_forward_attn_blocks  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_attn_blocks_work_size(const ggml_tensor * dst, int n_tasks);
