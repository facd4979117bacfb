#include "h2o-view.h"

ggml_tensor * h2o_fold(
        ggml_context * ctx, ggml_tensor * t, int64_t n_group, int64_t token, int64_t n_queries, int64_t n_chunks) {
    const int64_t d         = t->ne[0];
    const int64_t n_head_kv = t->ne[1]/n_group;

    if (t->nb[1] != ggml_row_size(t->type, d)) {
        t = ggml_cont(ctx, t);
    }

    // the heads of a group are neighbours, so [d, n_group] is one block
    t = ggml_view_4d(ctx, t, d*n_group, n_head_kv, n_queries, n_chunks,
            n_group*t->nb[1], t->nb[2], n_queries*t->nb[2], token*t->nb[2]);
    t = ggml_permute(ctx, t, 0, 2, 1, 3);
    t = t->type == GGML_TYPE_F32 ? ggml_cont(ctx, t) : ggml_cast(ctx, t, GGML_TYPE_F32);

    return ggml_reshape_4d(ctx, t, d, n_group*n_queries, n_head_kv, n_chunks);
}

ggml_tensor * h2o_unfold(ggml_context * ctx, ggml_tensor * t, int64_t n_group) {
    const int64_t n_queries = t->ne[1]/n_group;

    t = ggml_reshape_4d(ctx, t, t->ne[0]*n_group, n_queries, t->ne[2], t->ne[3]);
    t = ggml_permute(ctx, t, 0, 2, 1, 3);

    return ggml_cont_2d(ctx, t, t->ne[0]*t->ne[1], t->ne[2]*t->ne[3]);
}

ggml_tensor * h2o_view_tokens(ggml_context * ctx, ggml_tensor * t, int64_t token, int64_t n_queries, int64_t n_chunks) {
    return ggml_view_4d(ctx, t, t->ne[0], t->ne[1], n_queries, n_chunks,
            t->nb[1], t->nb[2], n_queries*t->nb[2], token*t->nb[2]);
}

ggml_tensor * h2o_view_chunk(ggml_context * ctx, ggml_tensor * t, int32_t i) {
    return ggml_view_3d(ctx, t, t->ne[0], t->ne[1], t->ne[2], t->nb[1], t->nb[2], i*t->nb[3]);
}

// ggml sizes a new view by its elements, and would count cells that chunks share once for each. So a view is made with
// one key, then gets the others.
static ggml_tensor * h2o_with_keys(ggml_tensor * view, int dim, int64_t n_keys) {
    view->ne[dim] = n_keys;
    GGML_ASSERT(view->view_offs + ggml_nbytes(view) <= ggml_nbytes(view->view_src));
    return view;
}

ggml_tensor * h2o_view_k(
        ggml_context * ctx, ggml_tensor * k, int64_t pos, int64_t n_keys, int64_t n_step, int64_t n_chunks) {
    ggml_tensor * view = ggml_view_4d(ctx, k, k->ne[0], 1, k->ne[1], n_chunks,
            k->nb[2], k->nb[1], n_step*k->nb[2], pos*k->nb[2]);

    return h2o_with_keys(view, 1, n_keys);
}

bool h2o_is_transposed(const ggml_tensor * v) {
    return v->nb[1] > v->nb[2];
}

ggml_tensor * h2o_view_v_t(
        ggml_context * ctx, ggml_tensor * v, int64_t pos, int64_t n_keys, int64_t n_step, int64_t n_chunks) {
    if (h2o_is_transposed(v)) {
        ggml_tensor * view = ggml_view_4d(ctx, v, 1, v->ne[2], v->ne[1], n_chunks,
                v->nb[2], v->nb[1], n_step*v->nb[0], pos*v->nb[0]);

        return h2o_with_keys(view, 0, n_keys);
    }

    v = h2o_view_k(ctx, v, pos, n_keys, n_step, n_chunks);

    if (v->type != GGML_TYPE_F32) {
        v = ggml_cast(ctx, v, GGML_TYPE_F32);
    }
    return ggml_cont(ctx, ggml_transpose(ctx, v));
}

ggml_tensor * h2o_view_cells(ggml_context * ctx, ggml_tensor * kv) {
    return ggml_view_3d(ctx, kv, kv->ne[0], kv->ne[2], kv->ne[1], kv->nb[2], kv->nb[1], 0);
}

// -> F32 [d, n_mem, n_head_kv]
static ggml_tensor * h2o_gather(ggml_context * ctx, ggml_tensor * kv, ggml_tensor * set) {
    return ggml_get_rows(ctx, h2o_view_cells(ctx, kv), set);
}

ggml_tensor * h2o_gather_k(ggml_context * ctx, ggml_tensor * k, ggml_tensor * set) {
    ggml_tensor * k_mem = h2o_gather(ctx, k, set);

    return k->type == GGML_TYPE_F32 ? k_mem : ggml_cast(ctx, k_mem, k->type);
}

ggml_tensor * h2o_gather_v_t(ggml_context * ctx, ggml_tensor * v, ggml_tensor * set) {
    const int64_t n_mem     = set->ne[0];
    const int64_t n_head_kv = set->ne[1];

    if (!h2o_is_transposed(v)) {
        return ggml_cont(ctx, ggml_transpose(ctx, h2o_gather(ctx, v, set)));
    }

    // the cells of one (head, channel) are neighbours: every element is a row of its own
    const int64_t d_v = v->ne[2];

    ggml_tensor * rows = ggml_view_4d(ctx, v, 1, v->ne[0], d_v, n_head_kv, v->nb[0], v->nb[2], v->nb[1], 0);

    // repeated as F32, which is exact for positions below 2^24: CUDA repeats no integers
    ggml_tensor * idxs = ggml_cast(ctx, ggml_reshape_3d(ctx, set, n_mem, 1, n_head_kv), GGML_TYPE_F32);
    idxs = ggml_cast(ctx, ggml_repeat_4d(ctx, idxs, n_mem, d_v, n_head_kv, 1), GGML_TYPE_I32);

    return ggml_reshape_3d(ctx, ggml_get_rows(ctx, rows, idxs), n_mem, d_v, n_head_kv);
}

ggml_tensor * h2o_reorder(ggml_context * ctx, ggml_tensor * t, ggml_tensor * order) {
    ggml_tensor * rows = ggml_get_rows(ctx, ggml_permute(ctx, t, 0, 2, 1, 3), order); // [d, n_queries, n_head]

    return ggml_cont(ctx, ggml_permute(ctx, rows, 0, 2, 1, 3));
}

ggml_tensor * h2o_inverse_order(ggml_context * ctx, ggml_tensor * order) {
    return ggml_argsort(ctx, ggml_cast(ctx, order, GGML_TYPE_F32), GGML_SORT_ORDER_ASC); // exact below 2^24
}
