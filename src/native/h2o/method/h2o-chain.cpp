#include "h2o-chain.h"

#include "h2o-engine.h"
#include "h2o-two-pass.h"
#include "h2o-view.h"

#include <algorithm>
#include <vector>

namespace {

// neighbouring chunks of one length, whose intra attention is one block
struct h2o_chunks {
    int32_t ic; // first chunk
    int32_t n_chunks;

    ggml_tensor  * q;
    h2o_attn_block intra; // o becomes the output of all keys, chunk by chunk
};

}

// intra attention of all chunks of the graph: batches of full ones that read as many positions before them; then the
// tail
static std::vector<h2o_chunks> h2o_build_chunks(
        const h2o_layer & l, const h2o_plan & plan, const llm_graph_input_h2o & inp) {
    std::vector<h2o_chunks> res;

    const auto add = [&](int32_t ic, int32_t n_chunks) {
        const int32_t n = plan.chunk_len(ic);

        ggml_tensor * mask = l.block.wants_mask_and_ones ? inp.get_mask(l.ctx, n, l.n_group) : nullptr;

        ggml_tensor * q = l.block.queries(l, plan.chunk_token(ic), n, n_chunks);

        res.push_back({ ic, n_chunks, q, l.block.intra(l, q, plan.chunk_pos(ic), plan.n_near(ic), n, n_chunks, mask) });

        const h2o_attn_block & b = res.back().intra;
        h2o_expand(l, { b.votes, b.o });

        // without a reader it would keep what it is a view of alive to the end of the graph
        if (plan.phase == H2O_PHASE_INTRA || plan.n_mem(ic + n_chunks - 1) > 0) {
            h2o_expand(l, { b.lse });
        }
    };

    const int32_t ic_tail   = plan.ic_begin + plan.n_graph_full();
    const int64_t n_batched = l.block.n_chunks_batched(plan.n_chunk, l.q->ne[1]);

    for (int32_t ic = plan.ic_begin; ic < ic_tail; ) {
        int32_t n = 1;
        while (n < n_batched && ic + n < ic_tail && plan.n_near(ic + n) == plan.n_near(ic)) {
            ++n;
        }
        add(ic, n);
        ic += n;
    }
    if (plan.has_graph_tail()) {
        add(ic_tail, 1);
    }
    return res;
}

// the only chunk of a graph of phase 2, as phase 1 left it; its queries are those of this pass
static h2o_chunks h2o_load_chunk(const h2o_layer & l, const h2o_plan & plan, const h2o_tensors & cache) {
    if (plan.n_mem(plan.ic_begin) == 0) {
        // upstream has put the queries into the graph and nothing needs them: with a reader of one number ggml frees
        // the rest
        h2o_expand(l, { ggml_dup(l.ctx, ggml_view_1d(l.ctx, l.q, 1, 0)) });
    }
    const int32_t ic = plan.ic_begin;

    return { ic, 1, l.block.queries(l, 0, plan.chunk_len(ic), 1), h2o_load_intra(l, plan, cache, ic) };
}

// [n_keys, 1, n_head_kv, n_chunks] -> [n_keys, n_head_kv] of one chunk; null for null
static ggml_tensor * h2o_view_votes(const h2o_layer & l, ggml_tensor * votes, int32_t i) {
    return votes ? ggml_view_2d(l.ctx, votes, votes->ne[0], votes->ne[2], votes->nb[2], i*votes->nb[3]) : nullptr;
}

// the chunks of the graph in order: set, inter and fuse, learn
static void h2o_build_chain(
        const h2o_layer           & l,
        const h2o_plan            & plan,
        const llm_graph_input_h2o & inp,
        int32_t                     owner,
        std::vector<h2o_chunks>   & batches) {
    const h2o_store  & store  = inp.engine.store;
    const h2o_policy & policy = *inp.engine.policy;

    std::vector<ggml_tensor *> & sets = inp.sets[owner];

    const auto memory = policy.begin_layer(l, plan, {
            store.kept(owner, plan.stream, plan.src), store.kept(owner, plan.stream, plan.dst), store.index(owner, plan.stream),
            owner == l.il ? nullptr : &sets });

    for (h2o_chunks & chunks : batches) {
        for (int32_t i = 0; i < chunks.n_chunks; ++i) {
            const int32_t ic = chunks.ic + i;

            h2o_set       set         = {};
            ggml_tensor * votes_inter = nullptr;
            ggml_tensor * votes_intra = h2o_view_votes(l, chunks.intra.votes, i);

            if (plan.n_mem(ic) > 0) {
                ggml_tensor * all = chunks.intra.o;
                ggml_tensor * q   = h2o_view_chunk(l.ctx, chunks.q,         i);
                ggml_tensor * o   = h2o_view_chunk(l.ctx, all,              i);
                ggml_tensor * lse = h2o_view_chunk(l.ctx, chunks.intra.lse, i);

                set = memory->build_set(ic, q, { o, lse, votes_intra });

                const h2o_attn_block inter = l.block.inter(l, q, set, o, lse);

                votes_inter    = h2o_view_votes(l, inter.votes, 0);
                chunks.intra.o = chunks.n_chunks == 1 ? inter.o
                    : ggml_set_inplace(l.ctx, all, inter.o, all->nb[1], all->nb[2], all->nb[3], i*all->nb[3]);
            }

            if (owner == l.il) {
                sets.push_back(set.members);
            }
            const h2o_scores scores = memory->build_learn(ic, votes_intra, votes_inter);
            h2o_expand(l, { chunks.intra.o });

            if (plan.trace) {
                inp.engine.trace.keep(l, plan, ic, policy.traits.has_own_sets ? l.q->ne[1] : l.k->ne[1], set, scores, inp.ones);
            }
        }
    }
    memory->build_store();
}

ggml_tensor * h2o_build_attn_layer(
        const llm_graph_context   & g,
        const llm_graph_input_h2o & inp,
        ggml_tensor               * q,
        ggml_tensor               * k,
        ggml_tensor               * v,
        const h2o_softmax         & softmax,
        int32_t                     il,
        int32_t                     owner) {
    const h2o_plan  & plan  = inp.plan;
    const h2o_block & block = inp.engine.block;

    q = block.take(g.ctx0, q);

    const bool with_votes = owner == il && inp.engine.policy->traits.casts_votes;

    const h2o_layer l = {
        g.ctx0, g.gf, q, k, v, softmax, il, q->ne[1]/k->ne[1], block, with_votes,
        with_votes && block.wants_mask_and_ones ? inp.ones : nullptr,
    };

    std::vector<h2o_chunks> batches;
    if (plan.phase == H2O_PHASE_INTER) {
        batches.push_back(h2o_load_chunk(l, plan, inp.engine.store.working(il)));
    } else {
        batches = h2o_build_chunks(l, plan, inp);
    }

    if (plan.phase == H2O_PHASE_INTRA) {
        inp.sets[il]; // phase 1 has none, and the probe looks for the layer

        for (const h2o_chunks & chunks : batches) {
            h2o_store_intra(l, plan, inp.engine.store.working(il), chunks.ic, chunks.intra);
        }
    } else {
        h2o_build_chain(l, plan, inp, owner, batches);
    }

    ggml_tensor * cur = nullptr;

    for (const h2o_chunks & chunks : batches) {
        ggml_tensor * o = l.block.by_token(l, chunks.intra.o);

        cur = cur ? ggml_concat(l.ctx, cur, o, 1) : o;
    }
    return cur;
}
