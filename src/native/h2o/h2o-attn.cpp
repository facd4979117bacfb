#include "h2o-attn.h"

#include "llama-hparams.h"
#include "llama-impl.h"

#include <algorithm>
#include <limits>
#include <vector>

int64_t h2o_n_chunks_batched(int64_t n_chunk, int64_t n_head) {
    const int64_t max_bytes = 256ll*1024*1024;

    return std::max<int64_t>(1, max_bytes/(n_chunk*n_chunk*n_head*(int64_t) sizeof(float)));
}

//
// building blocks
//

// ones as [1, rows, n_head_kv, n_chunks]
static ggml_tensor * h2o_view_ones(ggml_context * ctx, ggml_tensor * ones, const ggml_tensor * w) {
    const size_t nb = ggml_element_size(ones);

    return ggml_view_4d(ctx, ones, 1, w->ne[1], w->ne[2], w->ne[3], nb, nb*w->ne[1], nb*w->ne[1]*w->ne[2], 0);
}

h2o_attn_block h2o_build_attn_block(
        ggml_context * ctx,
        ggml_tensor  * q,
        ggml_tensor  * k,
        ggml_tensor  * v_t,
        ggml_tensor  * mask,
        ggml_tensor  * ones,
        float          kq_scale) {
    ggml_tensor * kq = ggml_mul_mat(ctx, k, q); // [n_keys, rows, n_head_kv, n_chunks]
    ggml_prec_set_acc(kq, GGML_PREC_F32);

    ggml_tensor * w = ggml_soft_max_ext(ctx, kq, mask, kq_scale, 0.0f);

    // the largest weight of a row is 1/l, and it stands where the logit is m
    const int64_t n_rows = ggml_nrows(w);

    ggml_tensor * i_max = ggml_reshape_2d(ctx, ggml_argmax(ctx, ggml_reshape_2d(ctx, w, w->ne[0], n_rows)), 1, n_rows);
    ggml_tensor * m     = ggml_get_rows(ctx, ggml_reshape_3d(ctx, kq, 1, kq->ne[0], n_rows), i_max);
    ggml_tensor * l_inv = ggml_get_rows(ctx, ggml_reshape_3d(ctx, w,  1, w->ne[0],  n_rows), i_max);

    ggml_tensor * lse = ggml_sub(ctx, ggml_scale(ctx, m, kq_scale), ggml_log(ctx, l_inv));

    return {
        ggml_mul_mat(ctx, v_t, w),
        ggml_reshape_4d(ctx, lse, 1, w->ne[1], w->ne[2], w->ne[3]),
        ggml_out_prod(ctx, w, h2o_view_ones(ctx, ones, w)),
    };
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

//
// views of q and of the cache
//

// queries of chunks [token, token + n_queries*n_chunks) with the group folded into the rows
// [d_k, n_head, n_tokens] -> [d_k, n_group*n_queries, n_head_kv, n_chunks]
static ggml_tensor * h2o_fold_q(
        ggml_context * ctx, ggml_tensor * q, int64_t n_group, int64_t token, int64_t n_queries, int64_t n_chunks) {
    const int64_t d         = q->ne[0];
    const int64_t n_head_kv = q->ne[1]/n_group;

    if (q->nb[1] != ggml_row_size(q->type, d)) {
        q = ggml_cont(ctx, q);
    }

    // the heads of a group are neighbours, so [d_k, n_group] is one block
    q = ggml_view_4d(ctx, q, d*n_group, n_head_kv, n_queries, n_chunks,
            n_group*q->nb[1], q->nb[2], n_queries*q->nb[2], token*q->nb[2]);

    q = ggml_cont(ctx, ggml_permute(ctx, q, 0, 2, 1, 3));

    return ggml_reshape_4d(ctx, q, d, n_group*n_queries, n_head_kv, n_chunks);
}

// the inverse for the output: [d_v, n_group*n_queries, n_head_kv, n_chunks] -> [d_v*n_head, n_queries*n_chunks]
static ggml_tensor * h2o_unfold_o(ggml_context * ctx, ggml_tensor * o, int64_t n_group) {
    const int64_t n_queries = o->ne[1]/n_group;

    o = ggml_reshape_4d(ctx, o, o->ne[0]*n_group, n_queries, o->ne[2], o->ne[3]);
    o = ggml_permute(ctx, o, 0, 2, 1, 3);

    return ggml_cont_2d(ctx, o, o->ne[0]*o->ne[1], o->ne[2]*o->ne[3]);
}

// cells [pos, pos + n_keys*n_chunks) of the K cache -> [d_k, n_keys, n_head_kv, n_chunks], in place
static ggml_tensor * h2o_view_k(ggml_context * ctx, ggml_tensor * k, int64_t pos, int64_t n_keys, int64_t n_chunks) {
    return ggml_view_4d(ctx, k, k->ne[0], n_keys, k->ne[1], n_chunks, k->nb[2], k->nb[1], n_keys*k->nb[2], pos*k->nb[2]);
}

static bool h2o_is_transposed(const ggml_tensor * v) {
    return v->nb[1] > v->nb[2];
}

// the same cells of the V cache, keys first -> [n_keys, d_v, n_head_kv, n_chunks]; in place if the cache is transposed
static ggml_tensor * h2o_view_v_t(ggml_context * ctx, ggml_tensor * v, int64_t pos, int64_t n_keys, int64_t n_chunks) {
    if (h2o_is_transposed(v)) {
        return ggml_view_4d(ctx, v, n_keys, v->ne[2], v->ne[1], n_chunks, v->nb[2], v->nb[1], n_keys*v->nb[0], pos*v->nb[0]);
    }

    v = h2o_view_k(ctx, v, pos, n_keys, n_chunks);

    if (v->type != GGML_TYPE_F32) {
        v = ggml_cast(ctx, v, GGML_TYPE_F32);
    }
    return ggml_cont(ctx, ggml_transpose(ctx, v));
}

// the members of a memory set, per KV head: set I32 [n_mem, n_head_kv] -> F32 [d, n_mem, n_head_kv]
static ggml_tensor * h2o_gather(ggml_context * ctx, ggml_tensor * kv, ggml_tensor * set) {
    ggml_tensor * rows = ggml_view_3d(ctx, kv, kv->ne[0], kv->ne[2], kv->ne[1], kv->nb[2], kv->nb[1], 0);

    return ggml_get_rows(ctx, rows, set);
}

// in the type of the cache: the values fit it exactly, and q is then rounded as in the intra product
static ggml_tensor * h2o_gather_k(ggml_context * ctx, ggml_tensor * k, ggml_tensor * set) {
    ggml_tensor * k_mem = h2o_gather(ctx, k, set);

    return k->type == GGML_TYPE_F32 ? k_mem : ggml_cast(ctx, k_mem, k->type);
}

// -> F32 [n_mem, d_v, n_head_kv]
static ggml_tensor * h2o_gather_v_t(ggml_context * ctx, ggml_tensor * v, ggml_tensor * set) {
    const int64_t n_mem     = set->ne[0];
    const int64_t n_head_kv = set->ne[1];

    if (!h2o_is_transposed(v)) {
        return ggml_cont(ctx, ggml_transpose(ctx, h2o_gather(ctx, v, set)));
    }

    // the cells of one (head, channel) are neighbours: every element is a row of its own
    const int64_t d_v = v->ne[2];

    ggml_tensor * rows = ggml_view_4d(ctx, v, 1, v->ne[0], d_v, n_head_kv, v->nb[0], v->nb[2], v->nb[1], 0);
    ggml_tensor * idxs = ggml_repeat_4d(ctx, ggml_reshape_3d(ctx, set, n_mem, 1, n_head_kv), n_mem, d_v, n_head_kv, 1);

    return ggml_reshape_3d(ctx, ggml_get_rows(ctx, rows, idxs), n_mem, d_v, n_head_kv);
}

//
// one layer
//

namespace {

// intra attention of neighbouring chunks of one length
struct h2o_intra {
    int32_t ic;       // first chunk
    int32_t n_chunks;

    ggml_tensor  * q; // [d_k, rows, n_head_kv, n_chunks]
    h2o_attn_block b; // o becomes the fused output, chunk by chunk
};

// the memory set of one chunk, and after the inter attention its votes
struct h2o_memory {
    ggml_tensor * pos   = nullptr; // I32 [n_mem, n_head_kv]
    ggml_tensor * score = nullptr; // F32 [n_mem, n_head_kv]
};

}

static ggml_tensor * h2o_view_chunk(ggml_context * ctx, ggml_tensor * t, int32_t i) {
    return ggml_view_3d(ctx, t, t->ne[0], t->ne[1], t->ne[2], t->nb[1], t->nb[2], i*t->nb[3]);
}

// [n_keys, 1, n_head_kv, n_chunks] -> [n_keys, n_head_kv] of one chunk
static ggml_tensor * h2o_view_votes(ggml_context * ctx, const h2o_intra & intra, int32_t ic) {
    ggml_tensor * votes = intra.b.votes;

    return ggml_view_2d(ctx, votes, votes->ne[0], votes->ne[2], votes->nb[2], (ic - intra.ic)*votes->nb[3]);
}

static std::vector<h2o_intra> h2o_build_intra(
        ggml_context                   * ctx,
        const llm_graph_input_attn_h2o & inp,
        ggml_tensor                    * q,
        ggml_tensor                    * k,
        ggml_tensor                    * v,
        float                            kq_scale) {
    const h2o_plan & plan = inp.plan;

    std::vector<h2o_intra> res;

    const auto build = [&](int32_t ic, int32_t n_chunks) {
        const int32_t n_keys = plan.chunk_len(ic);

        ggml_tensor * q_rows = h2o_fold_q(ctx, q, inp.n_group, ic*plan.n_chunk, n_keys, n_chunks);

        res.push_back({ ic, n_chunks, q_rows,
            h2o_build_attn_block(ctx, q_rows,
                    h2o_view_k  (ctx, k, plan.chunk_pos(ic), n_keys, n_chunks),
                    h2o_view_v_t(ctx, v, plan.chunk_pos(ic), n_keys, n_chunks),
                    n_keys == plan.n_chunk ? inp.mask_full : inp.mask_tail, inp.ones, kq_scale) });
    };

    const int32_t n_batched = h2o_n_chunks_batched(plan.n_chunk, q->ne[1]);

    for (int32_t ic = 0; ic < plan.n_full(); ic += n_batched) {
        build(ic, std::min(n_batched, plan.n_full() - ic));
    }
    if (plan.n_tail() > 0) {
        build(plan.n_full(), 1);
    }
    return res;
}

// what may be remembered when chunk ic begins, as the sources of selection
struct h2o_tracked_tensors {
    ggml_tensor * mem_pos;
    ggml_tensor * mem_score;
    ggml_tensor * chunk_score;

    ggml_h2o_tracked n;
};

static h2o_memory h2o_build_select(ggml_context * ctx, const h2o_plan & plan, const h2o_tracked_tensors & t, llama_pos pos) {
    h2o_memory res;
    res.pos   = ggml_h2o_select(ctx, t.mem_pos, t.mem_score, t.chunk_score, t.n, pos, plan.n_local, plan.n_heavy);
    res.score = ggml_h2o_lookup(ctx, res.pos, t.mem_pos, t.mem_score, t.chunk_score, t.n);
    return res;
}

// writes what the next call inherits into the buffer that this call does not read
static void h2o_build_store_state(
        const llm_graph_context & g, const h2o_layer_state & dst, const h2o_memory & mem, ggml_tensor * chunk_score) {
    const auto store = [&](ggml_tensor * src, ggml_tensor * dst) {
        dst = ggml_view_2d(g.ctx0, dst, src->ne[0], src->ne[1], dst->nb[1], 0);
        ggml_build_forward_expand(g.gf, ggml_cpy(g.ctx0, src, dst));
    };

    store(mem.pos,     dst.mem_pos);
    store(mem.score,   dst.mem_score);
    store(chunk_score, dst.chunk_score);
}

static void h2o_keep_trace(
        const llm_graph_context & g, const llm_graph_input_attn_h2o & inp, int il, int32_t ic, const h2o_memory & mem, ggml_tensor * chunk_score) {
    h2o_trace_node node = { il, inp.plan.chunk_pos(ic), inp.plan.chunk_len(ic), mem.pos, mem.score, ggml_cont(g.ctx0, chunk_score) };

    for (ggml_tensor * t : { node.mem_pos, node.mem_score, node.chunk_score }) {
        if (t) {
            ggml_set_output(t);
            ggml_build_forward_expand(g.gf, t);
        }
    }
    inp.cache->get_trace_nodes().push_back(node);
}

ggml_tensor * h2o_build_attn_layer(
        const llm_graph_context        & g,
        const llm_graph_input_attn_h2o & inp,
        ggml_tensor                    * q,
        ggml_tensor                    * k,
        ggml_tensor                    * v,
        float                            kq_scale,
        int                              il) {
    ggml_context * ctx = g.ctx0;

    const h2o_plan & plan = inp.plan;

    const h2o_layer_state & src = inp.cache->get_state(il, plan.src);

    std::vector<h2o_intra> intra = h2o_build_intra(ctx, inp, q, k, v, kq_scale);

    // the chain over the chunks: inter, accumulate, fuse, select
    h2o_memory          mem;
    h2o_tracked_tensors tracked = { src.mem_pos, src.mem_score, src.chunk_score, plan.inherited };

    for (h2o_intra & chunks : intra) {
        for (int32_t ic = chunks.ic; ic < chunks.ic + chunks.n_chunks; ++ic) {
            if (plan.n_mem(ic) > 0) {
                const int32_t i = ic - chunks.ic;

                mem = h2o_build_select(ctx, plan, tracked, plan.chunk_pos(ic));

                const h2o_attn_block inter = h2o_build_attn_block(ctx, h2o_view_chunk(ctx, chunks.q, i),
                        h2o_gather_k(ctx, k, mem.pos), h2o_gather_v_t(ctx, v, mem.pos), nullptr, inp.ones, kq_scale);

                mem.score = ggml_add(ctx, mem.score, ggml_reshape_2d(ctx, inter.votes, mem.score->ne[0], mem.score->ne[1]));

                ggml_tensor * o = h2o_build_fuse(ctx,
                        h2o_view_chunk(ctx, chunks.b.o, i), h2o_view_chunk(ctx, chunks.b.lse, i), inter.o, inter.lse);

                ggml_tensor * all = chunks.b.o;
                chunks.b.o = ggml_set_inplace(ctx, all, o, all->nb[1], all->nb[2], all->nb[3], i*all->nb[3]);

                tracked.mem_pos   = mem.pos;
                tracked.mem_score = mem.score;
            }

            tracked.chunk_score = h2o_view_votes(ctx, chunks, ic);
            tracked.n           = { plan.n_mem(ic), std::numeric_limits<int32_t>::max(), plan.chunk_pos(ic), plan.chunk_len(ic) };

            if (plan.trace) {
                h2o_keep_trace(g, inp, il, ic, mem, tracked.chunk_score);
            }
        }
    }

    h2o_build_store_state(g, inp.cache->get_state(il, 1 - plan.src), mem, tracked.chunk_score);

    ggml_tensor * cur = nullptr;

    for (const h2o_intra & chunks : intra) {
        ggml_tensor * o = h2o_unfold_o(ctx, chunks.b.o, inp.n_group);

        cur = cur ? ggml_concat(ctx, cur, o, 1) : o;
    }
    return cur;
}
