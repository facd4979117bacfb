// The index of the policy `query`: mean keys and values of pages. README.md, "query".

#pragma once

#include <cstddef>

struct ggml_compute_params;
struct ggml_tensor;

void   h2o_forward_pages  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_index_work_size(const ggml_tensor * dst, int n_tasks);
