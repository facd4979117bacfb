#include "h2o-attn.h"

#include "h2o-trace-mass.h"

#include "llama-hparams.h"
#include "llama-impl.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

int64_t h2o_n_batched(int64_t n_logits) {
    const int64_t max_bytes = 256ll*1024*1024;

    return std::max<int64_t>(1, max_bytes/(n_logits*(int64_t) sizeof(float)));
}

int64_t h2o_n_chunks_batched(int64_t n_chunk, int64_t n_head) {
    return h2o_n_batched(n_chunk*n_chunk*n_head);
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

// tokens [token, token + n_queries*n_chunks) of a tensor by token and head, with the group folded into the rows
// [d, n_head, n_tokens] -> F32 [d, n_group*n_queries, n_head_kv, n_chunks]
static ggml_tensor * h2o_fold(
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

// the inverse: [d, n_group*n_queries, n_head_kv, n_chunks] -> [d*n_head, n_queries*n_chunks]
static ggml_tensor * h2o_unfold(ggml_context * ctx, ggml_tensor * t, int64_t n_group) {
    const int64_t n_queries = t->ne[1]/n_group;

    t = ggml_reshape_4d(ctx, t, t->ne[0]*n_group, n_queries, t->ne[2], t->ne[3]);
    t = ggml_permute(ctx, t, 0, 2, 1, 3);

    return ggml_cont_2d(ctx, t, t->ne[0]*t->ne[1], t->ne[2]*t->ne[3]);
}

// tokens [token, token + n_queries*n_chunks), for the fused op: contiguous [d, n_head, n_tokens] -> [d, n_head, n_queries, n_chunks]
static ggml_tensor * h2o_view_tokens(ggml_context * ctx, ggml_tensor * t, int64_t token, int64_t n_queries, int64_t n_chunks) {
    return ggml_view_4d(ctx, t, t->ne[0], t->ne[1], n_queries, n_chunks, t->nb[1], t->nb[2], n_queries*t->nb[2], token*t->nb[2]);
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

// all cells of a cache by KV head: [d, n_head_kv, n_kv] -> [d, n_kv, n_head_kv]; transposed, [n_kv, n_head_kv, d] -> [n_kv, d, n_head_kv]
static ggml_tensor * h2o_view_cells(ggml_context * ctx, ggml_tensor * kv) {
    return ggml_view_3d(ctx, kv, kv->ne[0], kv->ne[2], kv->ne[1], kv->nb[2], kv->nb[1], 0);
}

// the members of a memory set, per KV head: set I32 [n_mem, n_head_kv] -> F32 [d, n_mem, n_head_kv]
static ggml_tensor * h2o_gather(ggml_context * ctx, ggml_tensor * kv, ggml_tensor * set) {
    return ggml_get_rows(ctx, h2o_view_cells(ctx, kv), set);
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

    // fused: q and b.o as [d, n_head, n_queries, n_chunks], b.lse as [1, n_head, n_queries, n_chunks]
    // composed: the group folded into the rows, [d, rows, n_head_kv, n_chunks] and [1, rows, n_head_kv, n_chunks]
    ggml_tensor  * q;
    h2o_attn_block b; // o becomes the output of all keys, chunk by chunk
};

// the memory set of one chunk, and after the inter attention its votes
struct h2o_memory {
    ggml_tensor * pos   = nullptr; // I32 [n_mem, n_head_kv]
    ggml_tensor * score = nullptr; // F32 [n_mem, n_head_kv]
};

// what may be remembered when a chunk begins, as the sources of selection
struct h2o_tracked_tensors {
    ggml_tensor * mem_pos;
    ggml_tensor * mem_score;
    ggml_tensor * chunk_score;

    ggml_h2o_tracked n;
};

// one layer of one graph: the arguments that every step shares
struct h2o_layer {
    const llm_graph_context        & g;
    const llm_graph_input_attn_h2o & inp;
    const h2o_plan                 & plan;

    ggml_context * ctx;

    ggml_tensor * q;
    ggml_tensor * k;
    ggml_tensor * v;

    float kq_scale;
    int   il;

    bool is_fused() const { return inp.cache->get_fused(); }
};

}

static ggml_tensor * h2o_view_chunk(ggml_context * ctx, ggml_tensor * t, int32_t i) {
    return ggml_view_3d(ctx, t, t->ne[0], t->ne[1], t->ne[2], t->nb[1], t->nb[2], i*t->nb[3]);
}

// [n_keys, 1, n_head_kv, n_chunks] -> [n_keys, n_head_kv] of one chunk
static ggml_tensor * h2o_view_votes(ggml_context * ctx, ggml_tensor * votes, int32_t i) {
    return ggml_view_2d(ctx, votes, votes->ne[0], votes->ne[2], votes->nb[2], i*votes->nb[3]);
}

// the parts of the result of ggml_h2o_attn
static h2o_attn_block h2o_unpack_attn(
        ggml_context * ctx, ggml_tensor * t, const ggml_tensor * q, int64_t d_v, int64_t n_keys, int64_t n_head_kv) {
    size_t offset = 0;

    const auto take = [&](int64_t ne0, int64_t ne1, int64_t ne2) {
        const size_t nb = sizeof(float);

        ggml_tensor * part = ggml_view_4d(ctx, t, ne0, ne1, ne2, q->ne[3], nb*ne0, nb*ne0*ne1, nb*ne0*ne1*ne2, offset);
        offset += ggml_nbytes(part);
        return part;
    };

    ggml_tensor * o     = take(d_v, q->ne[1], q->ne[2]);
    ggml_tensor * lse   = take(1,   q->ne[1], q->ne[2]);
    ggml_tensor * votes = take(n_keys, 1, n_head_kv);

    return { o, lse, votes };
}

// the queries of n_chunks chunks from a token of this graph on, see h2o_intra
static ggml_tensor * h2o_queries(const h2o_layer & l, int64_t token, int64_t n_queries, int64_t n_chunks) {
    return l.is_fused() ? h2o_view_tokens(l.ctx, l.q, token, n_queries, n_chunks)
                        : h2o_fold(l.ctx, l.q, l.inp.n_group, token, n_queries, n_chunks);
}

// o or lse by token: [d*n_head, n_tokens]
static ggml_tensor * h2o_by_token(const h2o_layer & l, ggml_tensor * t) {
    return l.is_fused() ? ggml_reshape_2d(l.ctx, t, t->ne[0]*t->ne[1], t->ne[2]*t->ne[3]) : h2o_unfold(l.ctx, t, l.inp.n_group);
}

static h2o_intra h2o_build_intra_of(const h2o_layer & l, int32_t ic, int32_t n_chunks) {
    const int32_t   n_keys = l.plan.chunk_len(ic);
    const llama_pos pos    = l.plan.chunk_pos(ic);

    ggml_tensor * q = h2o_queries(l, (ic - l.plan.ic_begin)*l.plan.n_chunk, n_keys, n_chunks);
    ggml_tensor * k = h2o_view_k(l.ctx, l.k, pos, n_keys, n_chunks);

    if (l.is_fused()) {
        const bool v_trans = h2o_is_transposed(l.v);

        ggml_tensor * v = v_trans ? h2o_view_v_t(l.ctx, l.v, pos, n_keys, n_chunks) : h2o_view_k(l.ctx, l.v, pos, n_keys, n_chunks);
        ggml_tensor * t = ggml_h2o_attn(l.ctx, q, k, v, nullptr, nullptr, nullptr, v_trans, true, l.kq_scale);

        return { ic, n_chunks, q, h2o_unpack_attn(l.ctx, t, q, v->ne[v_trans ? 1 : 0], n_keys, k->ne[2]) };
    }

    return { ic, n_chunks, q,
        h2o_build_attn_block(l.ctx, q, k, h2o_view_v_t(l.ctx, l.v, pos, n_keys, n_chunks),
                n_keys == l.plan.n_chunk ? l.inp.mask_full : l.inp.mask_tail, l.inp.ones, l.kq_scale) };
}

// puts what is built so far into the graph: left to the end, a depth-first walk would build the whole chain of scores first
// and keep the logits of every block alive
static void h2o_expand(const h2o_layer & l, std::initializer_list<ggml_tensor *> tensors) {
    for (ggml_tensor * t : tensors) {
        ggml_build_forward_expand(l.g.gf, t);
    }
}

// all chunks of the graph: batches of full ones, then the tail
static std::vector<h2o_intra> h2o_build_intra(const h2o_layer & l) {
    std::vector<h2o_intra> res;

    const auto add = [&](int32_t ic, int32_t n_chunks) {
        res.push_back(h2o_build_intra_of(l, ic, n_chunks));

        const h2o_attn_block & b = res.back().b;
        h2o_expand(l, { b.votes, b.o });

        // without a reader it would keep what it is a view of alive to the end of the graph
        if (l.plan.phase == H2O_PHASE_INTRA || l.plan.n_mem(ic + n_chunks - 1) > 0) {
            h2o_expand(l, { b.lse });
        }
    };

    const int32_t ic_tail = l.plan.ic_begin + l.plan.n_graph_full();

    const int32_t n_batched = l.is_fused() ? ic_tail : h2o_n_chunks_batched(l.plan.n_chunk, l.q->ne[1]);

    for (int32_t ic = l.plan.ic_begin; ic < ic_tail; ic += n_batched) {
        add(ic, std::min(n_batched, ic_tail - ic));
    }
    if (l.plan.has_graph_tail()) {
        add(ic_tail, 1);
    }
    return res;
}

// the chunk of this graph as phase 1 left it; q are the queries of this pass
static h2o_intra h2o_load_intra(const h2o_layer & l) {
    const int32_t ic     = l.plan.ic_begin;
    const int32_t n_keys = l.plan.chunk_len(ic);

    const h2o_layer_intra & cached = l.inp.cache->get_intra(l.il);

    if (l.plan.n_mem(ic) == 0) {
        // upstream has put the queries into the graph and nothing needs them: with a reader of one number ggml frees the rest
        h2o_expand(l, { ggml_dup(l.ctx, ggml_view_1d(l.ctx, l.q, 1, 0)) });
    }

    const auto load = [&](ggml_tensor * t) {
        const int64_t n_head = l.q->ne[1];

        t = ggml_view_3d(l.ctx, t, t->ne[0]/n_head, n_head, n_keys, t->nb[1]/n_head, t->nb[1], ic*l.plan.n_chunk*t->nb[1]);
        if (!l.is_fused()) {
            return h2o_fold(l.ctx, t, l.inp.n_group, 0, n_keys, 1);
        }
        return t->type == GGML_TYPE_F32 ? t : ggml_cast(l.ctx, t, GGML_TYPE_F32);
    };

    ggml_tensor * votes = ggml_view_4d(l.ctx, cached.votes, n_keys, 1, cached.votes->ne[1], 1,
            cached.votes->nb[1], cached.votes->nb[1], cached.votes->nb[2], ic*cached.votes->nb[2]);

    return { ic, 1, h2o_queries(l, 0, n_keys, 1), { load(cached.o), load(cached.lse), votes } };
}

static void h2o_build_store(const h2o_layer & l, ggml_tensor * src, ggml_tensor * dst) {
    ggml_build_forward_expand(l.g.gf, ggml_cpy(l.ctx, src, dst));
}

static void h2o_store_intra(const h2o_layer & l, const h2o_intra & chunks) {
    const h2o_layer_intra & cached = l.inp.cache->get_intra(l.il);

    const auto store = [&](ggml_tensor * src, ggml_tensor * dst) {
        src = h2o_by_token(l, src);
        h2o_build_store(l, src, ggml_view_2d(l.ctx, dst, src->ne[0], src->ne[1], dst->nb[1], chunks.ic*l.plan.n_chunk*dst->nb[1]));
    };

    store(chunks.b.o,   cached.o);
    store(chunks.b.lse, cached.lse);

    // [n_keys, n_head_kv, n_chunks], without the dimension of 1: upstream's CUDA copy takes it for a transposition where
    // there is one key
    ggml_tensor * src = ggml_reshape_3d(l.ctx, chunks.b.votes, chunks.b.votes->ne[0], chunks.b.votes->ne[2], chunks.b.votes->ne[3]);
    ggml_tensor * dst = cached.votes;

    h2o_build_store(l, src, ggml_view_3d(l.ctx, dst, src->ne[0], src->ne[1], src->ne[2],
                dst->nb[1], dst->nb[2], chunks.ic*dst->nb[2]));
}

static h2o_memory h2o_build_select(const h2o_layer & l, const h2o_tracked_tensors & t, llama_pos pos) {
    h2o_memory res;
    res.pos   = ggml_h2o_select(l.ctx, t.mem_pos, t.mem_score, t.chunk_score, t.n, pos, l.plan.n_local, l.plan.n_heavy);
    res.score = ggml_h2o_lookup(l.ctx, res.pos, t.mem_pos, t.mem_score, t.chunk_score, t.n);
    return res;
}

// chunk i of the batch attends to the memory, votes on it, and gets its fused output
static void h2o_build_inter(const h2o_layer & l, h2o_intra & chunks, int32_t i, h2o_memory & mem) {
    ggml_tensor * q   = h2o_view_chunk(l.ctx, chunks.q,     i);
    ggml_tensor * o   = h2o_view_chunk(l.ctx, chunks.b.o,   i);
    ggml_tensor * lse = h2o_view_chunk(l.ctx, chunks.b.lse, i);

    h2o_attn_block inter;

    if (l.is_fused()) {
        ggml_tensor * t = ggml_h2o_attn(l.ctx, q, h2o_view_cells(l.ctx, l.k), h2o_view_cells(l.ctx, l.v), mem.pos, o, lse,
                h2o_is_transposed(l.v), false, l.kq_scale);

        inter = h2o_unpack_attn(l.ctx, t, q, o->ne[0], mem.pos->ne[0], mem.pos->ne[1]);
        o     = inter.o;
    } else {
        inter = h2o_build_attn_block(l.ctx, q,
                h2o_gather_k(l.ctx, l.k, mem.pos), h2o_gather_v_t(l.ctx, l.v, mem.pos), nullptr, l.inp.ones, l.kq_scale);
        o     = h2o_build_fuse(l.ctx, o, lse, inter.o, inter.lse);
    }

    mem.score = ggml_add(l.ctx, mem.score, ggml_reshape_2d(l.ctx, inter.votes, mem.score->ne[0], mem.score->ne[1]));

    ggml_tensor * all = chunks.b.o;
    chunks.b.o = chunks.n_chunks == 1 ? o : ggml_set_inplace(l.ctx, all, o, all->nb[1], all->nb[2], all->nb[3], i*all->nb[3]);
}

// what the next graph or call inherits goes into the buffer that this graph does not read
static void h2o_store_state(const h2o_layer & l, const h2o_memory & mem, ggml_tensor * chunk_score) {
    const h2o_layer_state & dst = l.inp.cache->get_state(l.il, l.plan.dst);

    const auto store = [&](ggml_tensor * src, ggml_tensor * dst) {
        h2o_build_store(l, src, ggml_view_2d(l.ctx, dst, src->ne[0], src->ne[1], dst->nb[1], 0));
    };

    if (mem.pos) {
        store(mem.pos,   dst.mem_pos);
        store(mem.score, dst.mem_score);
    }
    store(chunk_score, dst.chunk_score);
}

static void h2o_keep_trace(const h2o_layer & l, int32_t ic, const h2o_memory & mem, ggml_tensor * chunk_score) {
    h2o_trace_node node = { l.il, l.plan.chunk_pos(ic), l.plan.chunk_len(ic), mem.pos, mem.score, ggml_cont(l.ctx, chunk_score), nullptr };

    if (l.plan.trace == H2O_TRACE_MASS) {
        ggml_tensor * q = ggml_view_3d(l.ctx, l.q, l.q->ne[0], l.q->ne[1], node.n_chunk, l.q->nb[1], l.q->nb[2],
                (ic - l.plan.ic_begin)*l.plan.n_chunk*l.q->nb[2]);

        node.mass = h2o_build_mass(l.ctx, l.g.gf, q, l.k, l.inp.ones, l.kq_scale, node.pos);
    }

    for (ggml_tensor * t : { node.mem_pos, node.mem_score, node.chunk_score, node.mass }) {
        if (t) {
            ggml_set_output(t);
            ggml_build_forward_expand(l.g.gf, t);
        }
    }
    l.inp.cache->get_trace_nodes().push_back(node);
}

namespace {

// what one chunk of the graph hands on to the next
struct h2o_chain {
    h2o_memory          mem;
    h2o_tracked_tensors tracked;
};

}

static h2o_chain h2o_load_chain(const h2o_layer & l) {
    const h2o_layer_state & src = l.inp.cache->get_state(l.il, l.plan.src);

    return { {}, { src.mem_pos, src.mem_score, src.chunk_score, l.plan.inherited } };
}

// the chain over the next chunks of this graph: select, inter, accumulate, fuse
static void h2o_build_chain(const h2o_layer & l, h2o_chain & chain, h2o_intra & chunks) {
    auto & [mem, tracked] = chain;

    for (int32_t i = 0; i < chunks.n_chunks; ++i) {
        const int32_t ic = chunks.ic + i;

        if (l.plan.n_mem(ic) > 0) {
            mem = h2o_build_select(l, tracked, l.plan.chunk_pos(ic));
            h2o_build_inter(l, chunks, i, mem);
            h2o_expand(l, { mem.score, chunks.b.o });

            tracked.mem_pos   = mem.pos;
            tracked.mem_score = mem.score;
        }

        tracked.chunk_score = h2o_view_votes(l.ctx, chunks.b.votes, i);
        tracked.n           = l.plan.tracked_after(ic);

        if (l.plan.trace) {
            h2o_keep_trace(l, ic, mem, tracked.chunk_score);
        }
    }
}

ggml_tensor * h2o_build_attn_layer(
        const llm_graph_context        & g,
        const llm_graph_input_attn_h2o & inp,
        ggml_tensor                    * q,
        ggml_tensor                    * k,
        ggml_tensor                    * v,
        float                            kq_scale,
        int                              il) {
    if (inp.cache->get_fused()) { // the op wants it contiguous, and behind RoPE it is
        q = q->type != GGML_TYPE_F32 ? ggml_cast(g.ctx0, q, GGML_TYPE_F32) : ggml_is_contiguous(q) ? q : ggml_cont(g.ctx0, q);
    }
    const h2o_layer l = { g, inp, inp.plan, g.ctx0, q, k, v, kq_scale, il };

    h2o_chain chain = h2o_load_chain(l);

    std::vector<h2o_intra> intra;

    if (l.plan.phase == H2O_PHASE_INTER) {
        intra.push_back(h2o_load_intra(l));
    } else {
        intra = h2o_build_intra(l);
    }

    if (l.plan.phase == H2O_PHASE_INTRA) {
        for (const h2o_intra & chunks : intra) {
            h2o_store_intra(l, chunks);
        }
    } else {
        for (h2o_intra & chunks : intra) {
            h2o_build_chain(l, chain, chunks);
        }
        h2o_store_state(l, chain.mem, chain.tracked.chunk_score);
    }

    ggml_tensor * cur = nullptr;

    for (const h2o_intra & chunks : intra) {
        ggml_tensor * o = h2o_by_token(l, chunks.b.o);

        cur = cur ? ggml_concat(l.ctx, cur, o, 1) : o;
    }
    return cur;
}
