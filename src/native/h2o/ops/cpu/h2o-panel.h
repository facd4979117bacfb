// Online softmax of a panel of queries, in F32: keys come some at a time, and the queries lie side by side (h2o-columns.h).

#pragma once

#include "h2o-columns.h"

#include <algorithm>
#include <cmath>

struct h2o_panel_state {
    float max[H2O_PANEL]; // the largest logit so far
    float sum[H2O_PANEL]; // of the weights relative to it

    h2o_panel_state() {
        std::fill(max, max + H2O_PANEL, -INFINITY);
        std::fill(sum, sum + H2O_PANEL, 0.0f);
    }
};

// n keys more, for the first n_rows queries. logits [n][H2O_PANEL] become weights; values [n][ld_v]; o [H2O_PANEL][ld_v] are the
// values so far, summed by their weights
static inline void h2o_panel_take(
        h2o_panel_state & state, float * logits, const float * values, int64_t ld_v, int64_t n, bool is_first, int64_t n_rows, float * o) {
    float before[H2O_PANEL];
    float shift [H2O_PANEL];

    std::copy(state.max, state.max + H2O_PANEL, before);
    h2o_columns_max(logits, n, H2O_PANEL, state.max);

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = -state.max[i];
    }
    for (int64_t i = 0; i < n_rows && !is_first; ++i) {
        const float left = expf(before[i] - state.max[i]);

        state.sum[i] *= left;
        for (int64_t j = 0; j < ld_v; ++j) {
            o[i*ld_v + j] *= left;
        }
    }
    h2o_columns_exp(logits, n, H2O_PANEL, shift, state.sum);

    h2o_gemm(n_rows, ld_v, n, { logits, 1, H2O_PANEL }, values, ld_v, o, ld_v, !is_first);
}
