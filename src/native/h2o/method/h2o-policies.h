// The policies that there are: a row of traits for each (h2o_policy_traits in h2o.h), and its class.

#pragma once

#include "h2o-policy.h"

// n_chunk: S
std::unique_ptr<h2o_policy> h2o_make_policy(const h2o_params & params, uint32_t n_chunk);
