#include "h2o-query.h"

#include "h2o-query-op.h"
#include "h2o-query-products.h"
#include "h2o-query-score.h"
#include "h2o-query-search.h"
#include "h2o-rows.h"
#include "h2o-share.h"

#include <cmath>
#include <numeric>
#include <optional>

// All threads round the keys of a KV head. Then each takes blocks of queries of its query heads from their needs to
// their sets, so the number of threads changes no bit.

// The needy queries: those whose own surroundings give them the least, by log-sum-exp per key; ties to the lower position.
static int64_t h2o_find_needy(const h2o_query_op & op, const h2o_query_block & b, int64_t n_near, int32_t * out) {
    float   needs[GGML_H2O_BLOCK];
    int32_t keys [GGML_H2O_BLOCK];

    for (int64_t i = 0; i < b.n; ++i) {
        needs[i] = logf(n_near + b.begin + i + 1) - op.lse_at(b.begin + i, b.ih);
    }
    h2o_order_keys(needs, b.n, keys);

    const int64_t n = h2o_take_best(keys, b.n, GGML_H2O_NEEDY, out);
    for (int64_t i = 0; i < n; ++i) {
        out[i] += b.begin;
    }
    return n;
}

// the landmarks that needy queries want most, into `out`
static int64_t h2o_choose_by_need(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_query_block & b, int64_t n_near,
        int32_t * out) {
    const int64_t n_cols = op.n_needy_cols();

    int32_t needy[GGML_H2O_NEEDY];
    const int64_t n_needy = h2o_find_needy(op, b, n_near, needy);

    for (int64_t i = 0; i < n_needy; ++i) {
        op.read_query(needy[i], b.ih, w.scaled + i*op.d);
    }
    std::fill(w.scaled + n_needy*op.d, w.scaled + n_cols*op.d, 0.0f);

    float shift[H2O_PANEL];
    std::fill(shift, shift + n_cols, -INFINITY);
    for (int64_t i = 0; i < n_needy; ++i) {
        shift[i] = -op.lse_at(needy[i], b.ih);
    }

    const int32_t * at    = op.landmarks_of(op.kv_head(b.ih));
    const int64_t   n_all = op.n_landmarks_of(op.kv_head(b.ih));

    h2o_multiply_rows(op, w, { keys.landmarks, op.p.n_landmarks }, n_all, n_cols, w.logits);

    for (int64_t i = 0; i < n_all; ++i) {
        w.scores[i] = h2o_row_max_shifted(w.logits + i*n_cols, shift, n_cols);
    }
    h2o_order_keys(w.scores, n_all, w.keys);

    const int64_t n = h2o_take_best(w.keys, n_all, op.p.n_by_need, out);
    for (int64_t i = 0; i < n; ++i) {
        out[i] = at[out[i]];
    }
    return n;
}

static void h2o_query_of_block(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_query_block & b, int64_t n_near,
        int32_t * out) {
    const int64_t n_by_need = h2o_choose_by_need(op, keys, w, b, n_near, out);
    const int64_t n_by_all  = h2o_choose_by_all (op, keys, w, b, out, n_by_need);

    std::copy(w.best, w.best + n_by_all, out + n_by_need);
    std::inplace_merge(out, out + n_by_need, out + n_by_need + n_by_all);
    std::fill(out + n_by_need + n_by_all, out + op.n_set, out[n_by_need + n_by_all - 1]);
}

// the keys of a KV head, a share of a thread
static void h2o_read_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t ith, int64_t nth) {
    const int64_t n_pages = op.n_keys()/GGML_H2O_PAGE;
    h2o_round_keys(op, keys, w, ih_kv, n_pages*ith/nth, n_pages*(ith + 1)/nth);

    const h2o_cells cells(op.k, ih_kv);
    const int32_t * at = op.landmarks_of(ih_kv);
    const int64_t   n  = op.n_landmarks_of(ih_kv);

    const int64_t begin = n*ith/nth;
    const int64_t end   = n*(ith + 1)/nth;

    if (!op.tiles) {
        cells.read_each(at + begin, end - begin, keys.landmarks + begin*op.d, op.d);
        return;
    }
    for (int64_t i = begin; i < end; ++i) {
        cells.prefetch(at[std::min(i + H2O_AHEAD, n - 1)]);
        cells.read(at[i], w.scaled);
        h2o_keep_row(op, w.scaled, i, keys.landmarks, op.p.n_landmarks);
    }
    for (int64_t i = op.p.n_pages*ith/nth; i < op.p.n_pages*(ith + 1)/nth; ++i) {
        h2o_keep_row(op, op.pages_of(ih_kv) + i*op.d, i, keys.pages, op.p.n_pages);
    }
}

static int32_t * h2o_set_at(ggml_tensor * dst, int64_t ih, int64_t ib) {
    return (int32_t *) ((char *) dst->data + ih*dst->nb[1] + ib*dst->nb[2]);
}

void h2o_forward_query(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_query_op   op(dst);
    const h2o_query_keys keys(op, params);
    const h2o_query_work w(op, params);

    if (op.n_set == op.p.n_cand) {
        for (int64_t i = params->ith; i < op.n_head*op.n_blocks; i += params->nth) {
            int32_t * out = h2o_set_at(dst, i%op.n_head, i/op.n_head);
            std::iota(out, out + op.n_set, 0);
        }
        return;
    }

#ifdef H2O_HAS_AMX
    std::optional<h2o_amx_scope> tiles;
    if (op.tiles) {
        tiles.emplace();
    }
#endif

    for (int64_t ih_kv = 0; ih_kv < op.n_head/op.n_group; ++ih_kv) {
        if (ih_kv > 0) {
            ggml_barrier(params->threadpool); // the keys before are still read
        }
        h2o_read_keys(op, keys, w, ih_kv, params->ith, params->nth);

        h2o_share_out(params, op.n_group*op.n_blocks, [&](int64_t i) {
            const int64_t ih    = ih_kv*op.n_group + i/op.n_blocks;
            const int64_t ib    = i%op.n_blocks;
            const int64_t begin = ib*GGML_H2O_BLOCK;

            const h2o_query_block b = { ih, begin, std::min<int64_t>(GGML_H2O_BLOCK, op.n_queries - begin) };

            h2o_query_of_block(op, keys, w, b, op.p.n_near, h2o_set_at(dst, ih, ib));
        });
    }
}

size_t h2o_query_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_query_op op(dst);

    return op.size_shared() + n_tasks*op.size_thread() + h2o_query_op::align;
}
