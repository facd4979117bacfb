#include "h2o-mass.h"

#include "h2o-block.h"

#include <algorithm>

int64_t h2o_mass_max_nodes(int64_t n_queries, int64_t n_keys, int64_t n_head) {
    const int64_t n_slice = h2o_n_batched(n_keys*n_head);

    // views included; a few serve all slices
    return 8 + 12*((n_queries + n_slice - 1)/n_slice);
}

ggml_tensor * h2o_build_mass(
        ggml_context * ctx,
        ggml_cgraph  * gf,
        ggml_tensor  * q,
        ggml_tensor  * k,
        ggml_tensor  * ones,
        float          kq_scale,
        int64_t        pos) {
    const int64_t n_head    = q->ne[1];
    const int64_t n_queries = q->ne[2];
    const int64_t n_head_kv = k->ne[1];
    const int64_t n_group   = n_head/n_head_kv;
    const int64_t n_keys    = pos + n_queries;
    const int64_t n_slice   = h2o_n_batched(n_keys*n_head);

    GGML_ASSERT(n_keys <= k->ne[2]);

    // cell i holds position i: a sparse call has checked that
    k = ggml_view_3d(ctx, k, k->ne[0], n_keys, n_head_kv, k->nb[2], k->nb[1], 0);

    ggml_tensor * res = nullptr;

    for (int64_t i = 0; i < n_queries; i += n_slice) {
        const int64_t n = std::min(n_slice, n_queries - i);

        ggml_tensor * qi = ggml_view_3d(ctx, q, q->ne[0], n_head, n, q->nb[1], q->nb[2], i*q->nb[2]);
        if (qi->type != GGML_TYPE_F32) {
            qi = ggml_cast(ctx, qi, GGML_TYPE_F32);
        }

        // one head after the other and not folded into rows, so that the mask is that of plain attention
        ggml_tensor * kq = ggml_mul_mat(ctx, k, ggml_permute(ctx, qi, 0, 2, 1, 3)); // [n_keys, n, n_head]
        ggml_prec_set_acc(kq, GGML_PREC_F32);

        kq = ggml_diag_mask_inf(ctx, kq, pos + i);

        ggml_tensor * w = ggml_soft_max_ext(ctx, kq, nullptr, kq_scale, 0.0f);

        // the heads of a group are neighbours: their rows are summed like those of one head
        w = ggml_reshape_3d(ctx, w, n_keys, n*n_group, n_head_kv);

        ggml_tensor * one = ggml_view_3d(ctx, ones, 1, n*n_group, n_head_kv,
                ggml_element_size(ones), n*n_group*ggml_element_size(ones), 0);

        ggml_tensor * sum = ggml_out_prod(ctx, w, one); // [n_keys, 1, n_head_kv]

        res = res ? ggml_add(ctx, res, sum) : sum;
        ggml_build_forward_expand(gf, res);
    }

    // a tensor of its own: an output that is a view would not keep what it shows
    return ggml_cont_2d(ctx, res, n_keys, n_head_kv);
}
