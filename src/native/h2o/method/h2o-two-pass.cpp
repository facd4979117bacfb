#include "h2o-two-pass.h"

#include "h2o-view.h"

enum {
    H2O_INTRA_O,
    H2O_INTRA_LSE,
    H2O_INTRA_VOTES,
};

std::vector<h2o_tensor_spec> h2o_two_pass_tensors(const h2o_layer_shape & shape, uint32_t n_batch, uint32_t n_chunk) {
    const bool is_f32 = shape.type_k == GGML_TYPE_F32 && shape.type_v == GGML_TYPE_F32;

    const ggml_type type_o   = is_f32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    const int64_t   n_chunks = (n_batch + n_chunk - 1)/n_chunk;

    return {
        { "intra_o",     type_o,        { shape.d_v*shape.n_head, n_batch, 1 } },
        { "intra_lse",   GGML_TYPE_F32, { shape.n_head,           n_batch, 1 } },
        { "intra_votes", GGML_TYPE_F32, { n_chunk, shape.n_head_kv, n_chunks } },
    };
}

void h2o_store_intra(
        const h2o_layer & l, const h2o_plan & plan, const h2o_tensors & cache, int32_t ic, const h2o_attn_block & intra) {
    const auto store = [&](ggml_tensor * src, ggml_tensor * dst) {
        src = l.block.by_token(l, src);
        dst = ggml_view_2d(l.ctx, dst, src->ne[0], src->ne[1], dst->nb[1], ic*plan.n_chunk*dst->nb[1]);
        h2o_expand(l, { ggml_cpy(l.ctx, src, dst) });
    };

    store(intra.o,   cache[H2O_INTRA_O]);
    store(intra.lse, cache[H2O_INTRA_LSE]);

    if (!intra.votes) {
        return;
    }
    // [n_keys, n_head_kv, n_chunks], without the dimension of 1: upstream's CUDA copy takes it for a transposition
    // where there is one key
    ggml_tensor * src = ggml_reshape_3d(l.ctx, intra.votes, intra.votes->ne[0], intra.votes->ne[2], intra.votes->ne[3]);
    ggml_tensor * dst = cache[H2O_INTRA_VOTES];

    dst = ggml_view_3d(l.ctx, dst, src->ne[0], src->ne[1], src->ne[2], dst->nb[1], dst->nb[2], ic*dst->nb[2]);
    h2o_expand(l, { ggml_cpy(l.ctx, src, dst) });
}

h2o_attn_block h2o_load_intra(const h2o_layer & l, const h2o_plan & plan, const h2o_tensors & cache, int32_t ic) {
    const int32_t n_keys = plan.chunk_len(ic);
    const int64_t n_head = l.q->ne[1];

    const auto load = [&](ggml_tensor * t) {
        t = ggml_view_3d(l.ctx, t, t->ne[0]/n_head, n_head, n_keys,
                t->nb[1]/n_head, t->nb[1], ic*plan.n_chunk*t->nb[1]);
        return l.block.from_head(l, t);
    };

    ggml_tensor * votes = nullptr;
    if (l.with_votes) {
        votes = cache[H2O_INTRA_VOTES];
        votes = ggml_view_4d(l.ctx, votes, n_keys, 1, votes->ne[1], 1,
                votes->nb[1], votes->nb[1], votes->nb[2], ic*votes->nb[2]);
    }
    return { load(cache[H2O_INTRA_O]), load(cache[H2O_INTRA_LSE]), votes };
}
