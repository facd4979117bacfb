#include "h2o-mass.h"

#include "h2o-block-composed.h"
#include "h2o-view.h"

#include <algorithm>

// queries whose logits are one product
static int64_t h2o_mass_n_slice(int64_t n_per_sum, int64_t n_keys, int64_t n_head) {
    return std::min(n_per_sum, h2o_n_batched(n_keys*n_head));
}

static int64_t h2o_ceil_div(int64_t a, int64_t b) {
    return (a + b - 1)/b;
}

int64_t h2o_mass_max_nodes(int64_t n_queries, int64_t n_per_sum, int64_t n_keys, int64_t n_head) {
    const int64_t n_sums = h2o_ceil_div(n_queries, n_per_sum);

    // views included; a few serve all slices
    return 16 + n_sums*(1 + 20*h2o_ceil_div(n_per_sum, h2o_mass_n_slice(n_per_sum, n_keys, n_head)));
}

// F32 [n_keys, n, n_head]: -inf for a key that is behind the query at one of n places of an order, 0 for the others
static ggml_tensor * h2o_build_hidden(ggml_context * ctx, ggml_tensor * order, int64_t place, int64_t n, int64_t n_keys, int64_t pos) {
    ggml_tensor * places = ggml_cont(ctx, ggml_view_2d(ctx, order, n, order->ne[1], order->nb[1], place*order->nb[0]));

    ggml_tensor * ends = ggml_scale_bias(ctx, ggml_cast(ctx, places, GGML_TYPE_F32), 1.0f, pos + 1); // exact below 2^24
    ends = ggml_repeat_4d(ctx, ggml_reshape_3d(ctx, ends, 1, n, order->ne[1]), n_keys, n, order->ne[1], 1);

    return ggml_log(ctx, ggml_step(ctx, ggml_sub(ctx, ends, ggml_arange(ctx, 0.0f, n_keys, 1.0f))));
}

// column sums of n queries over k [d_k, n_keys, n_head_kv] -> [n_keys, 1, n_heads]; hidden: null, and they are neighbours from
// position pos on
static ggml_tensor * h2o_build_column_sums(
        ggml_context      * ctx,
        ggml_tensor       * q,
        ggml_tensor       * k,
        ggml_tensor       * ones,
        ggml_tensor       * hidden,
        const h2o_softmax & softmax,
        int64_t             n_heads,
        int64_t             pos) {
    const int64_t n       = q->ne[2];
    const int64_t n_group = q->ne[1]/n_heads;

    if (q->type != GGML_TYPE_F32) {
        q = ggml_cast(ctx, q, GGML_TYPE_F32);
    }

    // one head after the other and not folded into rows, so that the mask is that of plain attention
    ggml_tensor * kq = ggml_mul_mat(ctx, k, ggml_permute(ctx, q, 0, 2, 1, 3)); // [n_keys, n, n_head]
    ggml_prec_set_acc(kq, GGML_PREC_F32);

    kq = h2o_build_cap(ctx, kq, softmax);
    kq = hidden ? ggml_add(ctx, kq, hidden) : ggml_diag_mask_inf(ctx, kq, pos);

    ggml_tensor * w = ggml_soft_max_ext(ctx, kq, nullptr, h2o_scale(softmax), 0.0f);
    ggml_soft_max_add_sinks(w, softmax.sinks);

    // the heads of a group are neighbours: their rows are summed like those of one head
    w = ggml_reshape_3d(ctx, w, k->ne[1], n*n_group, n_heads);

    ggml_tensor * one = ggml_view_3d(ctx, ones, 1, n*n_group, n_heads,
            ggml_element_size(ones), n*n_group*ggml_element_size(ones), 0);

    return ggml_out_prod(ctx, w, one);
}

ggml_tensor * h2o_build_mass(
        ggml_context      * ctx,
        ggml_cgraph       * gf,
        ggml_tensor       * q,
        ggml_tensor       * order,
        ggml_tensor       * k,
        ggml_tensor       * ones,
        const h2o_softmax & softmax,
        int64_t             n_heads,
        int64_t             pos,
        int64_t             n_per_sum) {
    const int64_t n_queries = q->ne[2];
    const int64_t n_keys    = pos + n_queries;
    const int64_t n_slice   = h2o_mass_n_slice(n_per_sum, n_keys, q->ne[1]);

    GGML_ASSERT(n_keys <= k->ne[2]);

    // cell i holds position i: a sparse call has checked that
    k = ggml_view_3d(ctx, k, k->ne[0], n_keys, k->ne[1], k->nb[2], k->nb[1], 0);

    if (order) {
        q = h2o_reorder(ctx, q, order);
    }
    ggml_tensor * res = nullptr;

    for (int64_t begin = 0; begin < n_queries; begin += n_per_sum) {
        const int64_t end = std::min(begin + n_per_sum, n_queries);

        ggml_tensor * sum = nullptr;

        for (int64_t i = begin; i < end; i += n_slice) {
            const int64_t n = std::min(n_slice, end - i);

            ggml_tensor * qi     = ggml_view_3d(ctx, q, q->ne[0], q->ne[1], n, q->nb[1], q->nb[2], i*q->nb[2]);
            ggml_tensor * hidden = order ? h2o_build_hidden(ctx, order, i, n, n_keys, pos) : nullptr;
            ggml_tensor * part   = h2o_build_column_sums(ctx, qi, k, ones, hidden, softmax, n_heads, pos + i);

            sum = sum ? ggml_add(ctx, sum, part) : part;
            ggml_build_forward_expand(gf, sum);
        }

        sum = ggml_reshape_3d(ctx, sum, n_keys, n_heads, 1);
        res = res ? ggml_concat(ctx, res, sum, 2) : sum;
        ggml_build_forward_expand(gf, res);
    }

    // a tensor of its own: an output that is a view would not keep what it shows
    return ggml_cont_3d(ctx, res, n_keys, n_heads, res->ne[2]);
}
