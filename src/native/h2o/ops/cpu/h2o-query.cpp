#include "h2o-query.h"

#include "h2o-query-means.h"
#include "h2o-query-need.h"
#include "h2o-query-op.h"
#include "h2o-query-score.h"
#include "h2o-query-search.h"
#include "h2o-share.h"

#include <numeric>
#include <optional>

// All threads round the keys of a KV head. Then each takes blocks of queries of its query heads, from their needs to their
// sets, so the number of threads changes no bit.

static void h2o_query_of_block(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih, int64_t ib) {
    int32_t * out = op.set_at(ih, ib);

    const int64_t n_by_need = op.n_by_need(op.kv_head(ih));
    const int64_t n_by_all  = h2o_choose_by_all(op, keys, w, op.block(ih, ib), out, n_by_need);

    std::copy(w.best, w.best + n_by_all, out + n_by_need);
    std::inplace_merge(out, out + n_by_need, out + n_by_need + n_by_all);
    std::fill(out + n_by_need + n_by_all, out + op.n_set, out[n_by_need + n_by_all - 1]);
}

// the keys of a KV head, a share of a thread
static void h2o_read_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t ith, int64_t nth) {
    const int64_t n_pages = op.n_keys()/GGML_H2O_PAGE;
    h2o_round_keys(op, keys, w, ih_kv, n_pages*ith/nth, n_pages*(ith + 1)/nth);

    const int64_t n_panels = op.n_landmark_cols()/H2O_PANEL;
    h2o_pack_landmarks(op, keys, w, ih_kv, n_panels*ith/nth, n_panels*(ith + 1)/nth);

    for (int64_t i = op.p.n_pages*ith/nth; op.tiles && i < op.p.n_pages*(ith + 1)/nth; ++i) {
        h2o_keep_mean(op, keys, ih_kv, i);
    }
}

void h2o_forward_query(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_query_op   op(dst);
    const h2o_query_keys keys(op, params);
    const h2o_query_work w(op, params);

    if (op.n_set == op.p.n_cand) {
        for (int64_t i = params->ith; i < op.n_head*op.n_blocks; i += params->nth) {
            int32_t * out = op.set_at(i%op.n_head, i/op.n_head);
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

        const int64_t n_parts = (op.n_blocks + H2O_NEEDY_BLOCKS - 1)/H2O_NEEDY_BLOCKS;

        h2o_share_out(params, op.n_group*n_parts, [&](int64_t i) {
            h2o_choose_by_need(op, keys, w, ih_kv*op.n_group + i/n_parts, i%n_parts*H2O_NEEDY_BLOCKS);
        });
        ggml_barrier(params->threadpool);

        h2o_share_out(params, op.n_group*op.n_blocks, [&](int64_t i) {
            h2o_query_of_block(op, keys, w, ih_kv*op.n_group + i/op.n_blocks, i%op.n_blocks);
        });
    }
}

size_t h2o_query_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_query_op op(dst);

    return op.size_shared() + n_tasks*op.size_thread() + h2o_query_op::align;
}
