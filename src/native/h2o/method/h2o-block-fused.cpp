// Attention over given keys as one GGML_OP_H2O, by token and head.

#include "h2o-block.h"

#include "h2o-view.h"

#include "ops/ggml-h2o.h"

#include <cstdint>

// what an op returns in the shape of what it was given, from an offset on
static ggml_tensor * h2o_view_part(ggml_context * ctx, ggml_tensor * t, const ggml_tensor * like, size_t offset) {
    return ggml_view_3d(ctx, t, like->ne[0], like->ne[1], like->ne[2], like->nb[1], like->nb[2], offset);
}

namespace {

class fused_block : public h2o_block {
public:
    fused_block() : h2o_block(false) {}

    // contiguous F32, and behind RoPE it is
    ggml_tensor * take(ggml_context * ctx, ggml_tensor * q) const override {
        return q->type != GGML_TYPE_F32 ? ggml_cast(ctx, q, GGML_TYPE_F32) : ggml_is_contiguous(q) ? q : ggml_cont(ctx, q);
    }

    int64_t n_chunks_batched(int64_t, int64_t) const override { return INT64_MAX; }

    ggml_tensor * queries(const h2o_layer & l, int64_t token, int64_t n_queries, int64_t n_chunks) const override {
        return h2o_view_tokens(l.ctx, l.q, token, n_queries, n_chunks);
    }

    h2o_attn_block intra(const h2o_layer & l, ggml_tensor * q, int64_t pos, int64_t n_near, int64_t n,
            int64_t n_chunks, ggml_tensor *) const override {
        const int64_t n_keys = n_near + n;

        ggml_tensor * k = h2o_view_k(l.ctx, l.k, pos - n_near, n_keys, n, n_chunks);
        ggml_tensor * v = h2o_is_transposed(l.v) ? h2o_view_v_t(l.ctx, l.v, pos - n_near, n_keys, n, n_chunks)
                                                 : h2o_view_k  (l.ctx, l.v, pos - n_near, n_keys, n, n_chunks);

        h2o_attn_block res = attn(l, q, k, v, {}, nullptr, nullptr);

        if (l.softmax.sinks) {
            h2o_build_sinks(l.ctx, ggml_reshape_2d(l.ctx, l.softmax.sinks, 1, q->ne[1]), res.o, res.lse);
        }
        return res;
    }

    h2o_attn_block inter(
            const h2o_layer & l, ggml_tensor * q, const h2o_set & set, ggml_tensor * o, ggml_tensor * lse) const override {
        if (set.left_out.keys) {
            ggml_tensor * t = ggml_h2o_estimate(l.ctx, q, set.left_out.keys, set.left_out.values, set.members, set.order, o, lse,
                    set.left_out.n_cand, l.softmax.scale);

            o   = h2o_view_part(l.ctx, t, o, 0);
            lse = h2o_view_part(l.ctx, t, lse, ggml_nbytes(o));
        }
        return attn(l, q, h2o_view_cells(l.ctx, l.k), h2o_view_cells(l.ctx, l.v), set, o, lse);
    }

    ggml_tensor * by_head(const h2o_layer &, ggml_tensor * t) const override { return t; }

    ggml_tensor * from_head(const h2o_layer & l, ggml_tensor * t) const override {
        return t->type == GGML_TYPE_F32 ? t : ggml_cast(l.ctx, t, GGML_TYPE_F32);
    }

    ggml_tensor * by_token(const h2o_layer & l, ggml_tensor * t) const override {
        return ggml_reshape_2d(l.ctx, t, t->ne[0]*t->ne[1], t->ne[2]*t->ne[3]);
    }

private:
    // The set, o and lse: null for intra attention. The op knows no sinks.
    static h2o_attn_block attn(
            const h2o_layer & l,
            ggml_tensor     * q,
            ggml_tensor     * k,
            ggml_tensor     * v,
            const h2o_set   & set,
            ggml_tensor     * o,
            ggml_tensor     * lse) {
        const bool v_trans = h2o_is_transposed(l.v);

        ggml_tensor * t = ggml_h2o_attn(
                l.ctx, q, k, v, set.members, set.order, o, lse, v_trans, !set.members, l.with_votes, l.softmax.scale);

        // the result holds its parts one after the other
        size_t offset = 0;

        const auto part = [&](int64_t ne0, int64_t ne1, int64_t ne2) {
            const size_t nb = sizeof(float);

            ggml_tensor * res = ggml_view_4d(l.ctx, t, ne0, ne1, ne2, q->ne[3],
                    nb*ne0, nb*ne0*ne1, nb*ne0*ne1*ne2, offset);
            offset += ggml_nbytes(res);
            return res;
        };

        h2o_attn_block res;
        res.o     = part(v->ne[v_trans ? 1 : 0], q->ne[1], q->ne[2]);
        res.lse   = part(1, q->ne[1], q->ne[2]);
        res.votes = l.with_votes ? part(set.members ? set.members->ne[0] : k->ne[1], 1, k->ne[2]) : nullptr;
        return res;
    }
};

}

const h2o_block & h2o_fused_block() {
    static const fused_block block;
    return block;
}
