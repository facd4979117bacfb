// What a prefill costs in floating-point operations: read off the sparse graph, so that experts, repeated layers and
// whatever else an architecture does need no rule here. h2o_get_cost (h2o.h) reports it.

#pragma once

struct ggml_cgraph;

// of all products with a matrix of the model
double h2o_linear_flops(ggml_cgraph * gf);
