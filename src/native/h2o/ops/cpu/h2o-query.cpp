#include "h2o-query.h"

#include "h2o-query-op.h"
#include "h2o-query-search.h"
#include "h2o-rows.h"

#include <cmath>
#include <optional>

// A thread takes a block of queries and a head from its needs to its
// set. Nothing is shared, so threads change no bit.

// The needy queries: those whose own surroundings give them the least, by log-sum-exp per key; ties to the lower position.
static int64_t h2o_find_needy(const h2o_query_op & op, const h2o_query_block & b, int64_t n_near, int32_t * out) {
    h2o_candidate c[GGML_H2O_BLOCK];

    for (int64_t i = 0; i < b.n; ++i) {
        const float need = op.lse_at(b.begin + i, b.ih) - logf(n_near + b.begin + i + 1);

        c[i] = { h2o_order_key(-need), (int32_t) (b.begin + i) };
    }
    const int64_t n = h2o_take_best(c, b.n, GGML_H2O_NEEDY);

    for (int64_t i = 0; i < n; ++i) {
        out[i] = c[i].pos;
    }
    return n;
}

// the landmarks that needy queries want most, into w.ranked
static int64_t h2o_choose_by_need(const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, int64_t n_near) {
    constexpr int64_t n_cols = h2o_query_op::n_needy_cols;

    int32_t needy[GGML_H2O_NEEDY];
    const int64_t n_needy = h2o_find_needy(op, b, n_near, needy);

    h2o_pack_queries(w.queries, n_cols, op.d, n_needy, op.p.scale, [&](int64_t i) { return op.q_at(needy[i], b.ih); });

    float shift[n_cols];
    std::fill(shift, shift + n_cols, -INFINITY);
    for (int64_t i = 0; i < n_needy; ++i) {
        shift[i] = -op.lse_at(needy[i], b.ih);
    }

    const h2o_cells keys(op.k, op.kv_head(b.ih));
    const int32_t * at = (const int32_t *) ((const char *) op.landmarks->data + op.kv_head(b.ih)*op.landmarks->nb[1]);

    // ascending, so that those past the candidates are the last
    int64_t n_all = op.p.n_landmarks;
    while (n_all > 0 && at[n_all - 1] >= op.p.n_cand) {
        --n_all;
    }

    for (int64_t i = 0; i < n_all; i += GGML_H2O_PAGE) {
        const int64_t n = std::min<int64_t>(GGML_H2O_PAGE, n_all - i);

        for (int64_t j = 0; j < n; ++j) {
            keys.read(at[i + j], w.keys + j*op.d);
        }
        h2o_gemm(n, n_cols, op.d, { w.keys, op.d, 1 }, w.queries, n_cols, w.logits, n_cols);

        for (int64_t j = 0; j < n; ++j) {
            w.ranked[i + j] = { h2o_row_max_shifted(w.logits + j*n_cols, shift, n_cols), at[i + j] };
        }
    }
    return h2o_take_best(w.ranked, n_all, op.p.n_by_need);
}

static void h2o_query_of_block(const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, int64_t n_near, int32_t * out) {
    if (op.n_set == op.p.n_cand) {
        for (int64_t i = 0; i < op.n_set; ++i) {
            out[i] = i;
        }
        return;
    }

    const int64_t n_by_need = h2o_choose_by_need(op, w, b, n_near);

    // `out` keeps them while the others are chosen
    for (int64_t i = 0; i < n_by_need; ++i) {
        out[i] = w.ranked[i].pos;
    }
    const int64_t n_by_all = h2o_choose_by_all(op, w, b, out, n_by_need);

    for (int64_t i = 0; i < n_by_all; ++i) {
        out[n_by_need + i] = w.ranked[i].pos;
    }
    std::inplace_merge(out, out + n_by_need, out + n_by_need + n_by_all);
}

void h2o_forward_query(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_query_op   op(dst);
    const h2o_query_work w(op, params);

#ifdef H2O_HAS_AMX
    std::optional<h2o_amx_scope> tiles;
    if (op.scoring == H2O_SCORING_TILES) {
        tiles.emplace();
    }
#endif

    for (int64_t i = params->ith; i < op.n_head*op.n_blocks; i += params->nth) {
        const int64_t ih    = i/op.n_blocks;
        const int64_t ib    = i%op.n_blocks;
        const int64_t begin = ib*GGML_H2O_BLOCK;

        const h2o_query_block b = { ih, begin, std::min<int64_t>(GGML_H2O_BLOCK, op.n_queries - begin) };

        h2o_query_of_block(op, w, b, op.p.n_near, (int32_t *) ((char *) dst->data + ih*dst->nb[1] + ib*dst->nb[2]));
    }
}

size_t h2o_query_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_query_op(dst).size_thread() + h2o_query_op::align;
}
