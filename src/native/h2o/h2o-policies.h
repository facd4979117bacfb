// The policies that there are, by their type.

#pragma once

#include "h2o-policy.h"

// n_chunk: S
// throws std::runtime_error for an unknown type
std::unique_ptr<h2o_policy> h2o_make_policy(const h2o_params & params, uint32_t n_chunk);
