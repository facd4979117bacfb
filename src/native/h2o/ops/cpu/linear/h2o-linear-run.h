// How the threads share a linear layer: a slice of the rows is prepared by all of them, then each takes panels of outputs.

#pragma once

#include "h2o-linear-op.h"

#include "../h2o-share.h"

#include "ggml-cpu-impl.h"

#include <algorithm>

// rows of activations that are prepared at once: what a thread unpacks serves so many
static constexpr int64_t H2O_LINEAR_SLICE = 1024;

static inline int64_t h2o_linear_slice(const h2o_linear_op & op) {
    return std::min(op.n_rows, H2O_LINEAR_SLICE);
}

struct h2o_linear_rows {
    int64_t first;
    int64_t n;

    int64_t end() const { return first + n; }
};

// outputs [begin, end) of some rows of a slice, which want the same expert
struct h2o_linear_panel {
    h2o_linear_rows slice;
    h2o_linear_rows rows;

    int64_t expert;
    int64_t begin;
    int64_t end;
};

// fills op.order; rows of an expert stay in their order
static inline void h2o_linear_sort(const h2o_linear_op & op) {
    const auto expert_of = [&](int64_t row) {
        const int64_t n_used = op.ids->ne[0];
        const int32_t e = *(const int32_t *) ((const char *) op.ids->data + row/n_used*op.ids->nb[1] + row%n_used*op.ids->nb[0]);
        GGML_ASSERT(e >= 0 && e < op.n_experts); // as ggml does
        return e;
    };
    int32_t * first = op.order + op.n_rows;
    int32_t * next  = first + 1; // where the next row of an expert goes; in the end that is where the expert behind it begins

    std::fill_n(first, op.n_experts + 1, 0);
    for (int64_t i = 0; i < op.n_rows; ++i) {
        next[expert_of(i)]++;
    }
    int32_t begin = 0;
    for (int64_t e = 0; e < op.n_experts; ++e) {
        const int32_t count = next[e];
        next[e] = begin;
        begin  += count;
    }
    for (int64_t i = 0; i < op.n_rows; ++i) {
        op.order[next[expert_of(i)]++] = i;
    }
}

// the slice that begins at a row: as many as fit, less those of an expert that does not fit whole
static inline h2o_linear_rows h2o_linear_slice_at(const h2o_linear_op & op, int64_t first) {
    const int64_t most = std::min(op.n_rows, first + H2O_LINEAR_SLICE);

    int64_t end = most;
    for (int64_t e = 0; e <= op.n_experts && op.first_row(e) <= most; ++e) {
        end = op.first_row(e);
    }
    return { first, (end > first ? end : most) - first };
}

static inline int64_t h2o_linear_expert_of(const h2o_linear_op & op, int64_t row) {
    int64_t e = 0;
    while (op.first_row(e + 1) <= row) {
        ++e;
    }
    return e;
}

// those of a slice that want an expert
static inline h2o_linear_rows h2o_linear_rows_of(const h2o_linear_op & op, h2o_linear_rows slice, int64_t expert) {
    const int64_t first = std::max(slice.first, op.first_row(expert));
    return { first, std::min(slice.end(), op.first_row(expert + 1)) - first };
}

//   prepare(slice)    this thread's part of these rows
//   multiply(panel)   of a slice that is prepared, at most n_panel wide
template <typename Prepare, typename Multiply>
static void h2o_linear_run(
        const ggml_compute_params * params, const h2o_linear_op & op, int64_t n_panel, const Prepare & prepare, const Multiply & multiply) {
    const int64_t n_panels = (op.n_out + n_panel - 1)/n_panel;

    if (op.ids) {
        if (params->ith == 0) {
            h2o_linear_sort(op);
        }
        ggml_barrier(params->threadpool);
    }
    for (h2o_linear_rows slice = { 0, 0 }; slice.end() < op.n_rows; ) {
        slice = h2o_linear_slice_at(op, slice.end());

        prepare(slice);

        const int64_t first = h2o_linear_expert_of(op, slice.first);
        const int64_t last  = h2o_linear_expert_of(op, slice.end() - 1);

        h2o_share_out(params, (last - first + 1)*n_panels, [&](int64_t i) {
            const int64_t         expert = first + i/n_panels;
            const int64_t         begin  = i%n_panels*n_panel;
            const h2o_linear_rows rows   = h2o_linear_rows_of(op, slice, expert);
            if (rows.n > 0) {
                multiply(h2o_linear_panel { slice, rows, expert, begin, std::min(op.n_out, begin + n_panel) });
            }
        });
        if (slice.end() < op.n_rows) { // behind the last one the graph's own barrier is next
            ggml_barrier(params->threadpool);
        }
    }
}
