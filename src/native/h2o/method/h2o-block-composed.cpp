// With the query heads of a group folded into the rows.

#include "h2o-block-composed.h"

#include "h2o-view.h"

#include "ops/ggml-h2o.h"

#include <cmath>

ggml_tensor * h2o_build_cap(ggml_context * ctx, ggml_tensor * kq, const h2o_softmax & softmax) {
    return softmax.cap > 0.0f ? ggml_tanh(ctx, ggml_scale(ctx, kq, softmax.scale/softmax.cap)) : kq;
}

float h2o_scale(const h2o_softmax & softmax) {
    return softmax.cap > 0.0f ? softmax.cap : softmax.scale;
}

// ones as [1, rows, n_head_kv, n_chunks]
static ggml_tensor * h2o_view_ones(ggml_context * ctx, ggml_tensor * ones, const ggml_tensor * w) {
    const size_t nb = ggml_element_size(ones);

    return ggml_view_4d(ctx, ones, 1, w->ne[1], w->ne[2], w->ne[3], nb, nb*w->ne[1], nb*w->ne[1]*w->ne[2], 0);
}

h2o_attn_block h2o_build_attn_block(
        ggml_context      * ctx,
        ggml_tensor       * q,
        ggml_tensor       * k,
        ggml_tensor       * v_t,
        ggml_tensor       * mask,
        ggml_tensor       * ones,
        const h2o_softmax & softmax,
        ggml_tensor       * hidden) {
    ggml_tensor * kq = ggml_mul_mat(ctx, k, q); // [n_keys, rows, n_head_kv, n_chunks]
    ggml_prec_set_acc(kq, GGML_PREC_F32);

    kq = h2o_build_cap(ctx, kq, softmax);
    kq = hidden ? ggml_add(ctx, kq, hidden) : kq;

    const float scale = h2o_scale(softmax);

    ggml_tensor * w = ggml_soft_max_ext(ctx, kq, mask, scale, 0.0f);

    // the largest weight of a row is 1/l, and it stands where the logit is m
    const int64_t n_rows = ggml_nrows(w);

    ggml_tensor * i_max = ggml_reshape_2d(ctx, ggml_argmax(ctx, ggml_reshape_2d(ctx, w, w->ne[0], n_rows)), 1, n_rows);
    ggml_tensor * m     = ggml_get_rows(ctx, ggml_reshape_3d(ctx, kq, 1, kq->ne[0], n_rows), i_max);
    ggml_tensor * l_inv = ggml_get_rows(ctx, ggml_reshape_3d(ctx, w,  1, w->ne[0],  n_rows), i_max);

    ggml_tensor * o   = ggml_mul_mat(ctx, v_t, w);
    ggml_tensor * lse = ggml_sub(ctx, ggml_scale(ctx, m, scale), ggml_log(ctx, l_inv));

    lse = ggml_reshape_4d(ctx, lse, 1, w->ne[1], w->ne[2], w->ne[3]);

    ggml_tensor * shares = ones ? h2o_view_ones(ctx, ones, w) : nullptr; // of a row's weights in its votes

    if (softmax.sinks) {
        const int64_t n_group = softmax.sinks->ne[0]/w->ne[2];

        ggml_tensor * left = h2o_build_sinks(ctx, ggml_reshape_3d(ctx, softmax.sinks, 1, n_group, w->ne[2]), o, lse);

        shares = ones ? left : nullptr;
    }
    return { o, lse, shares ? ggml_out_prod(ctx, w, shares) : nullptr };
}

ggml_tensor * h2o_build_fuse(
        ggml_context * ctx,
        ggml_tensor  * o_a,
        ggml_tensor  * lse_a,
        ggml_tensor  * o_b,
        ggml_tensor  * lse_b) {
    ggml_tensor * diff = ggml_sub(ctx, lse_a, lse_b);

    return ggml_add(ctx,
            ggml_mul(ctx, o_a, ggml_sigmoid(ctx, diff)),
            ggml_mul(ctx, o_b, ggml_sigmoid(ctx, ggml_neg(ctx, diff))));
}

// of a block that is merged with one that counts them
static h2o_softmax h2o_without_sinks(h2o_softmax softmax) {
    softmax.sinks = nullptr;
    return softmax;
}

ggml_tensor * h2o_build_lse(ggml_context * ctx, ggml_tensor * lse_a, ggml_tensor * lse_b) {
    return ggml_add(ctx, lse_a, ggml_softplus(ctx, ggml_sub(ctx, lse_b, lse_a)));
}

// F32 [n_mem, 1, n, n_head_kv] of contiguous sets: -inf for a member that comes once more, 0 for the others; null if none can
static ggml_tensor * h2o_build_repeats(ggml_context * ctx, ggml_tensor * set, int64_t n, int64_t n_head_kv) {
    const int64_t n_mem = set->ne[0];

    if (n_mem == 1) {
        return nullptr;
    }
    ggml_tensor * pos = ggml_cast(ctx, ggml_reshape_2d(ctx, set, n_mem, n*n_head_kv), GGML_TYPE_F32); // exact below 2^24

    const auto from = [&](int64_t i) { return ggml_cont(ctx, ggml_view_2d(ctx, pos, n_mem - 1, n*n_head_kv, pos->nb[1], i*pos->nb[0])); };

    ggml_tensor * res = ggml_pad(ctx, ggml_log(ctx, ggml_step(ctx, ggml_sub(ctx, from(1), from(0)))), 1, 0, 0, 0);

    return ggml_reshape_4d(ctx, res, n_mem, 1, n, n_head_kv);
}

namespace {

// Rows of a KV head are by query and head of the group. With a set for each head and block, both are a dimension of the
// products, and the last block's missing queries zeros.
struct block_rows {
    block_rows(const h2o_layer & l, const ggml_tensor * q, int64_t n_sets) :
        ctx(l.ctx), n_sets(n_sets), n_group(l.n_group), n_rows(q->ne[1]), n_head_kv(q->ne[2]) {}

    ggml_context * ctx;

    const int64_t n_sets;
    const int64_t n_group;
    const int64_t n_rows;
    const int64_t n_head_kv;

    int64_t n_padded() const { return n_sets*GGML_H2O_BLOCK; } // queries

    // [d, rows, n_head_kv] -> [d, GGML_H2O_BLOCK, n_sets*n_group, n_head_kv]
    ggml_tensor * split(ggml_tensor * t) const {
        if (n_rows < n_padded()*n_group) {
            t = ggml_pad(ctx, t, 0, n_padded()*n_group - n_rows, 0, 0);
        }
        return ggml_reshape_4d(ctx, swap(t, n_group, n_padded()), t->ne[0], GGML_H2O_BLOCK, n_sets*n_group, n_head_kv);
    }

    // the inverse
    ggml_tensor * join(ggml_tensor * t) const {
        t = ggml_reshape_3d(ctx, swap(t, n_padded(), n_group), t->ne[0], n_group*n_padded(), n_head_kv);
        return ggml_cont(ctx, ggml_view_3d(ctx, t, t->ne[0], n_rows, n_head_kv, t->nb[1], t->nb[2], 0));
    }

private:
    ggml_tensor * swap(ggml_tensor * t, int64_t ne1, int64_t ne2) const {
        return ggml_cont(ctx, ggml_permute(ctx, ggml_reshape_4d(ctx, t, t->ne[0], ne1, ne2, n_head_kv), 0, 2, 1, 3));
    }
};

// the order that blocks are cut from, and the way back
struct block_order {
    block_order(const h2o_layer & l, ggml_tensor * order) : l(l), order(order), inverse(h2o_inverse_order(l.ctx, order)) {}

    ggml_tensor * queries(ggml_tensor * q) const { return reorder(q, order); }

    h2o_attn_block back(const h2o_attn_block & b) const { return { reorder(b.o, inverse), reorder(b.lse, inverse), nullptr }; }

private:
    const h2o_layer & l;

    ggml_tensor * order;
    ggml_tensor * inverse;

    ggml_tensor * reorder(ggml_tensor * t, ggml_tensor * by) const {
        return l.block.from_head(l, h2o_reorder(l.ctx, l.block.by_head(l, t), by));
    }
};

}

// attention over sets; the queries lie in the order that blocks are cut from, here and below
static h2o_attn_block h2o_build_blocks(const h2o_layer & l, ggml_tensor * q, ggml_tensor * set) {
    const block_rows rows(l, q, set->ne[2]);

    const int64_t n_mem    = set->ne[0];
    const int64_t n_blocks = rows.n_sets*l.n_group;

    set = ggml_cont(l.ctx, ggml_permute(l.ctx, set, 0, 2, 1, 3)); // [n_mem, n_sets, n_head]

    ggml_tensor * repeats = h2o_build_repeats(l.ctx, set, n_blocks, rows.n_head_kv);

    set = ggml_reshape_2d(l.ctx, set, n_mem*n_blocks, rows.n_head_kv);

    ggml_tensor * k   = h2o_gather_k  (l.ctx, l.k, set); // [d_k, n_mem*n_blocks, n_head_kv]
    ggml_tensor * v_t = h2o_gather_v_t(l.ctx, l.v, set); // [n_mem*n_blocks, d_v, n_head_kv]

    v_t = ggml_view_4d(l.ctx, v_t, n_mem, v_t->ne[1], n_blocks, rows.n_head_kv, v_t->nb[1], n_mem*v_t->nb[0], v_t->nb[2], 0);

    const h2o_attn_block b = h2o_build_attn_block(l.ctx, rows.split(q),
            ggml_reshape_4d(l.ctx, k, k->ne[0], n_mem, n_blocks, rows.n_head_kv),
            v_t, nullptr, nullptr, h2o_without_sinks(l.softmax), repeats);

    return { rows.join(b.o), rows.join(b.lse), nullptr };
}

// F32 [n_pages - 1, n_head, n_sets]: the log of how many keys of a page but the first are in no set; of none, less than any logit
static ggml_tensor * h2o_build_left(ggml_context * ctx, ggml_tensor * set, int64_t n_cand, int64_t n_pages) {
    // zeros where members are, ones elsewhere
    ggml_tensor * is_left = ggml_scale_bias(ctx, ggml_arange(ctx, 0.0f, n_cand, 1.0f), 0.0f, 1.0f);
    ggml_tensor * zeros   = ggml_scale(ctx, ggml_cast(ctx, set, GGML_TYPE_F32), 0.0f);

    is_left = ggml_set_rows(ctx,
            ggml_reshape_4d(ctx, ggml_repeat_4d(ctx, is_left, n_cand, set->ne[1], set->ne[2], 1), 1, n_cand, set->ne[1], set->ne[2]),
            ggml_reshape_4d(ctx, zeros, 1, set->ne[0], set->ne[1], set->ne[2]), set);

    ggml_tensor * pages = ggml_view_4d(ctx, is_left, GGML_H2O_PAGE, n_pages - 1, set->ne[1], set->ne[2],
            GGML_H2O_PAGE*is_left->nb[1], is_left->nb[2], is_left->nb[3], GGML_H2O_PAGE*is_left->nb[1]);

    ggml_tensor * res = ggml_clamp(ctx, ggml_log(ctx, ggml_sum_rows(ctx, pages)), -1e30f, INFINITY);

    return ggml_reshape_3d(ctx, res, n_pages - 1, set->ne[1], set->ne[2]);
}

h2o_attn_block h2o_build_estimates(const h2o_layer & l, ggml_tensor * q, const h2o_set & set) {
    const block_rows rows(l, q, set.members->ne[2]);

    const int64_t n_pages = set.left_out.n_cand/GGML_H2O_PAGE;

    const auto means = [&](ggml_tensor * t) { // but that of the first page
        return ggml_view_4d(l.ctx, t, t->ne[0], n_pages - 1, 1, t->ne[2], t->nb[1], t->nb[2], t->nb[2], t->nb[1]);
    };
    ggml_tensor * left = h2o_build_left(l.ctx, set.members, set.left_out.n_cand, n_pages);

    left = ggml_cont(l.ctx, ggml_permute(l.ctx, left, 0, 2, 1, 3)); // [n_pages - 1, n_sets, n_head]
    left = ggml_reshape_4d(l.ctx, left, n_pages - 1, 1, rows.n_sets*l.n_group, rows.n_head_kv);

    const h2o_attn_block b = h2o_build_attn_block(l.ctx, rows.split(q), means(set.left_out.keys),
            ggml_cont(l.ctx, ggml_transpose(l.ctx, means(set.left_out.values))), nullptr, nullptr, h2o_without_sinks(l.softmax),
            ggml_scale(l.ctx, left, 1.0f/h2o_scale(l.softmax)));

    return { rows.join(b.o), rows.join(b.lse), nullptr };
}

namespace {

class composed_block : public h2o_block {
public:
    composed_block() : h2o_block(true) {}

    ggml_tensor * take(ggml_context *, ggml_tensor * q) const override { return q; }

    int64_t n_chunks_batched(int64_t n_chunk, int64_t n_head) const override {
        return h2o_n_batched(n_chunk*n_chunk*n_head);
    }

    ggml_tensor * queries(const h2o_layer & l, int64_t token, int64_t n_queries, int64_t n_chunks) const override {
        return h2o_fold(l.ctx, l.q, l.n_group, token, n_queries, n_chunks);
    }

    h2o_attn_block intra(const h2o_layer & l, ggml_tensor * q, int64_t pos, int64_t n_near, int64_t n,
            int64_t n_chunks, ggml_tensor * mask) const override {
        const auto over = [&](
                int64_t pos, int64_t n_keys, ggml_tensor * mask, ggml_tensor * ones, const h2o_softmax & softmax) {
            return h2o_build_attn_block(l.ctx, q,
                    h2o_view_k  (l.ctx, l.k, pos, n_keys, n, n_chunks),
                    h2o_view_v_t(l.ctx, l.v, pos, n_keys, n, n_chunks), mask, ones, softmax);
        };

        h2o_attn_block own = over(pos, n, mask, n_near > 0 ? nullptr : l.ones, l.softmax);

        if (n_near > 0) {
            const h2o_attn_block near = over(pos - n_near, n_near, nullptr, nullptr, h2o_without_sinks(l.softmax));

            own.o   = h2o_build_fuse(l.ctx, own.o, own.lse, near.o, near.lse);
            own.lse = h2o_build_lse (l.ctx, own.lse, near.lse);
        }
        return own;
    }

    h2o_attn_block inter(
            const h2o_layer & l, ggml_tensor * q, const h2o_set & set, ggml_tensor * o, ggml_tensor * lse) const override {
        h2o_attn_block res;
        if (set.order) {
            const block_order order(l, set.order);

            q = order.queries(q);
            if (set.left_out.keys) {
                const h2o_attn_block left = order.back(h2o_build_estimates(l, q, set));

                o   = h2o_build_fuse(l.ctx, o, lse, left.o, left.lse);
                lse = h2o_build_lse (l.ctx, lse, left.lse);
            }
            res = order.back(h2o_build_blocks(l, q, set.members));
        } else {
            res = h2o_build_attn_block(l.ctx, q, h2o_gather_k(l.ctx, l.k, set.members), h2o_gather_v_t(l.ctx, l.v, set.members),
                    nullptr, l.ones, h2o_without_sinks(l.softmax));
        }
        res.o = h2o_build_fuse(l.ctx, o, lse, res.o, res.lse);
        return res;
    }

    ggml_tensor * by_head(const h2o_layer & l, ggml_tensor * t) const override {
        const int64_t n_head = l.q->ne[1];

        return ggml_reshape_3d(l.ctx, by_token(l, t), t->ne[0], n_head, ggml_nelements(t)/(t->ne[0]*n_head));
    }

    ggml_tensor * from_head(const h2o_layer & l, ggml_tensor * t) const override {
        return h2o_fold(l.ctx, t, l.n_group, 0, t->ne[2], 1);
    }

    ggml_tensor * by_token(const h2o_layer & l, ggml_tensor * t) const override {
        return h2o_unfold(l.ctx, t, l.n_group);
    }
};

}

const h2o_block & h2o_composed_block() {
    static const composed_block block;
    return block;
}
