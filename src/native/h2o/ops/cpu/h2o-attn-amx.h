// GGML_H2O_OP_ATTN without votes in AMX tiles (h2o-amx.h): over neighbouring keys, or over a set for each block of
// queries.

#pragma once

#include <cstddef>

struct ggml_compute_params;
struct ggml_tensor;

bool   h2o_attn_amx_supported(const ggml_tensor * dst);
void   h2o_forward_attn_amx  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_attn_amx_work_size(const ggml_tensor * dst, int n_tasks);
