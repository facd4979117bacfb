// GGML_H2O_OP_ESTIMATE: attention over what sets leave out, each page as one key (README.md, "Estimates").

#pragma once

#include "ggml-cpu-impl.h"

void   h2o_forward_estimate  (const ggml_compute_params * params, ggml_tensor * dst);
size_t h2o_estimate_work_size(const ggml_tensor * dst, int n_tasks);
