// CPU kernels of GGML_OP_H2O; part of the ggml-cpu target, called from ggml-cpu.c.

#pragma once

#include "ggml.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_compute_params;

// runs the sub-op of dst on thread params->ith of params->nth
void ggml_compute_forward_h2o(const struct ggml_compute_params * params, struct ggml_tensor * dst);

// bytes of params->wdata that the sub-op of dst needs with n_tasks threads
size_t ggml_h2o_work_size(const struct ggml_tensor * dst, int n_tasks);

#ifdef __cplusplus
}
#endif
