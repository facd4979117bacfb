// Sparse decoding: query heads choose keys, and those of a KV head attend to what any of them chose (README.md, "Sparse decoding").

#pragma once

#include "h2o-decode-op.h"

#include <cstddef>

struct ggml_compute_params;

void   h2o_forward_decode_sparse  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_decode_sparse_work_size(const ggml_tensor * dst, int n_tasks);
