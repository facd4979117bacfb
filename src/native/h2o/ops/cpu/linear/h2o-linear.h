// Matrix products of linear layers with many rows of activations, part of the ggml-cpu target. ggml-cpu.c asks here
// before it runs a product of its own. Only products that the graph builder has marked are taken (ggml_h2o_mark_linear).

#pragma once

#include "ggml.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_compute_params;

// runs dst on thread params->ith of params->nth; false: it is not for us, and nothing was done
bool h2o_linear_forward(const struct ggml_compute_params * params, struct ggml_tensor * dst);

// bytes of params->wdata that it needs with n_tasks threads; 0 if it is not for us
size_t h2o_linear_work_size(const struct ggml_tensor * dst, int n_tasks);

#ifdef __cplusplus
}
#endif
