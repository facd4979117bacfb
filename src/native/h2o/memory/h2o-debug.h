// Debug output of sparse calls on stderr, whatever the log level: one line per phase with H2O_DEBUG_PHASES=1, one per
// call with H2O_DEBUG_CACHE=1. Both schedules print the same fields.

#pragma once

#include "h2o-plan.h"

class h2o_policy;
class h2o_store;

// before the graph of the plan runs; n_chunks_prev: chunks of earlier calls of the same prompt
void h2o_debug_phases(const h2o_plan & plan, const h2o_policy & policy, int32_t n_chunks_prev);

// after the graph that computes the intra attention has run
void h2o_debug_cache(const h2o_plan & plan, const h2o_store & store);
