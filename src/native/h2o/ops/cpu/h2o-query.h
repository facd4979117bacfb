// GGML_H2O_OP_QUERY on the CPU: the memory sets that the blocks of a chunk ask for. README.md, "query".

#pragma once

#include <cstddef>

struct ggml_compute_params;
struct ggml_tensor;

void   h2o_forward_query  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_query_work_size(const ggml_tensor * dst, int n_tasks);
