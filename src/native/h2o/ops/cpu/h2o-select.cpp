#include "h2o-select.h"

#include <algorithm>
#include <cmath>

float h2o_order_key(float score) {
    return std::isnan(score) ? -INFINITY : score;
}

static bool h2o_is_heavier(const h2o_candidate & a, const h2o_candidate & b) {
    return a.score != b.score ? a.score > b.score : a.pos < b.pos;
}

int64_t h2o_take_best(h2o_candidate * c, int64_t n, int64_t n_take) {
    n_take = std::min(n, n_take);

    if (n_take < n) {
        std::nth_element(c, c + n_take, c + n, h2o_is_heavier);
    }
    std::sort(c, c + n_take, [](const h2o_candidate & a, const h2o_candidate & b) { return a.pos < b.pos; });
    return n_take;
}

void h2o_select_head(
        const h2o_tracked_head   & tracked,
        const ggml_h2o_op_params & params,
        h2o_candidate            * work,
        int32_t                  * out) {
    const ggml_h2o_tracked & n = tracked.n;

    const int32_t pos         = params.pos;
    const int32_t local_begin = std::max(0, pos - params.n_local);

    // candidates: tracked positions before Local
    int32_t n_cand = 0;

    for (int32_t i = 0; i < n.n_mem && tracked.mem_pos[i] < std::min(n.mem_end, local_begin); ++i) {
        work[n_cand++] = { h2o_order_key(tracked.mem_score[i]), tracked.mem_pos[i] };
    }
    for (int32_t i = 0; i < n.n_chunk && n.chunk_pos + i < local_begin; ++i) {
        work[n_cand++] = { h2o_order_key(tracked.chunk_score[i]), n.chunk_pos + i };
    }

    // Heavy: the top of them, ascending
    const int32_t n_take = h2o_take_best(work, n_cand, params.n_heavy);
    const int32_t n_fill = std::min(params.n_heavy, local_begin) - n_take;

    // merge in the lowest positions that are left, until Heavy is full
    int32_t n_out  = 0;
    int32_t i_take = 0;
    int32_t n_left = n_fill;

    for (int32_t p = 0; n_left > 0; ++p) {
        if (i_take < n_take && work[i_take].pos == p) {
            ++i_take;
        } else {
            --n_left;
        }
        out[n_out++] = p;
    }
    while (i_take < n_take) {
        out[n_out++] = work[i_take++].pos;
    }

    for (int32_t p = local_begin; p < pos; ++p) {
        out[n_out++] = p;
    }
}

void h2o_lookup_head(
        const h2o_tracked_head & tracked,
        const int32_t          * set,
        int64_t                  n_set,
        float                  * out) {
    const ggml_h2o_tracked & n = tracked.n;

    int32_t im = 0;

    for (int64_t i = 0; i < n_set; ++i) {
        const int32_t p = set[i];

        while (im < n.n_mem && tracked.mem_pos[im] < p) {
            ++im;
        }

        if (im < n.n_mem && tracked.mem_pos[im] == p && p < n.mem_end) {
            out[i] = tracked.mem_score[im];
        } else if (p >= n.chunk_pos && p < n.chunk_pos + n.n_chunk) {
            out[i] = tracked.chunk_score[p - n.chunk_pos];
        } else {
            out[i] = 0.0f;
        }
    }
}
