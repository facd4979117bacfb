// Pieces of an op's work go to the threads that are ready for them: cores differ in speed, and some are shared.

#pragma once

#include "ggml-cpu-impl.h"

#include <cstdint>

// work(i) for each i below n, by one thread each. All threads have done what was before, and have to meet (ggml_barrier)
// between this and the next time.
template <typename F>
static inline void h2o_share_out(const ggml_compute_params * params, int64_t n, const F & work) {
    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);

    for (int64_t i = params->ith; i < n; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        work(i);
    }
}
