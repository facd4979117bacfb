#include "h2o-query.h"

#include "h2o-query-keys.h"
#include "h2o-query-op.h"
#include "h2o-query-search.h"
#include "h2o-query-sums.h"
#include "h2o-share.h"

#include <numeric>
#include <optional>

// All threads round the keys of a KV head. Then each takes blocks of queries of its query heads, so the number of threads
// changes no bit.

// the keys of a KV head, a share of a thread
static void h2o_read_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t ith, int64_t nth) {
    const int64_t n_pages = op.n_all_pages();
    h2o_round_keys(op, keys, w, ih_kv, n_pages*ith/nth, n_pages*(ith + 1)/nth);

    const int64_t n_rows = op.tiles ? GGML_H2O_PAGE + op.p.n_pages : GGML_H2O_PAGE;
    for (int64_t i = n_rows*ith/nth; i < n_rows*(ith + 1)/nth; ++i) {
        h2o_keep_sum_row(op, keys, w, ih_kv, i);
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

        h2o_share_out(params, op.n_group*op.n_blocks, [&](int64_t i) {
            h2o_choose_set(op, keys, w, ih_kv*op.n_group + i/op.n_blocks, i%op.n_blocks);
        });
    }
}

size_t h2o_query_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_query_op op(dst);

    return op.size_shared() + n_tasks*op.size_thread() + h2o_query_op::align;
}
