// How the threads share a linear layer: a slice of the rows is prepared by all of them, then each takes panels of outputs.

#pragma once

#include "h2o-linear-op.h"

#include "ggml-cpu-impl.h"

#include <algorithm>

static constexpr size_t H2O_ALIGN = 64;

static inline char * h2o_align(void * p) {
    return (char *) GGML_PAD((uintptr_t) p, H2O_ALIGN);
}

// rows of activations that are prepared at once: what a thread unpacks serves so many
static constexpr int64_t H2O_LINEAR_SLICE = 1024;

static inline int64_t h2o_linear_slice(const h2o_linear_op & op) {
    return std::min(op.n_rows, H2O_LINEAR_SLICE);
}

//   prepare(first, n_rows)            this thread's part of rows [first, first + n_rows)
//   panel(first, n_rows, begin, end)  outputs [begin, end) of these rows, at most n_panel
template <typename Prepare, typename Panel>
static void h2o_linear_run(
        const ggml_compute_params * params, const h2o_linear_op & op, int64_t n_panel, const Prepare & prepare, const Panel & panel) {
    const int64_t n_panels = (op.n_out + n_panel - 1)/n_panel;

    for (int64_t first = 0; first < op.n_rows; first += H2O_LINEAR_SLICE) {
        const int64_t n_rows = std::min(H2O_LINEAR_SLICE, op.n_rows - first);

        prepare(first, n_rows);

        if (params->ith == 0) {
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
        }
        ggml_barrier(params->threadpool);

        for (int64_t i = params->ith; i < n_panels; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
            panel(first, n_rows, i*n_panel, std::min(op.n_out, (i + 1)*n_panel));
        }
        ggml_barrier(params->threadpool);
    }
}
