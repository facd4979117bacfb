// Debug output of sparse calls on stderr, whatever the log level: one line per phase with H2O_DEBUG_PHASES=1, one per call
// with H2O_DEBUG_CACHE=1. The lines and fields are those of task 5.5, part B; single-pass prints the same ones.

#pragma once

#include "h2o-kv-cache.h"

// before the graph of the plan runs; n_chunks_prev: chunks of earlier calls of the same prompt
void h2o_debug_phases(const h2o_plan & plan, int32_t n_chunks_prev);

// after the graph that computes the intra attention has run
void h2o_debug_cache(const llama_kv_cache_h2o & cache, const h2o_plan & plan);
