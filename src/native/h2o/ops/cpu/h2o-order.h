// GGML_H2O_OP_ORDER: the queries of a chunk, like ones side by side (README.md, "Order").

#pragma once

#include "ggml-cpu-impl.h"

void   h2o_forward_order  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_order_work_size(const ggml_tensor * dst, int n_tasks);
