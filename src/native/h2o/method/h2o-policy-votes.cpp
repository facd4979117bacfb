#include "h2o-policy-votes.h"

#include <algorithm>
#include <limits>

// no member was removed
static constexpr int32_t H2O_MEM_END = std::numeric_limits<int32_t>::max();

// of one layer
enum {
    H2O_MEM_POS,     // I32 [L + H, n_head_kv] the last memory set
    H2O_MEM_SCORE,   // F32 [L + H, n_head_kv]
    H2O_CHUNK_SCORE, // F32 [S,     n_head_kv] of the last chunk
};

h2o_policy_votes::h2o_policy_votes(const h2o_policy_traits & traits, const h2o_params & params, uint32_t n_chunk) :
    h2o_policy(traits), n_mem(params.n_local + params.n_heavy), n_chunk(n_chunk) {
}

std::vector<h2o_tensor_spec> h2o_policy_votes::tensors(const h2o_layer_shape & shape) const {
    return {
        { "mem_pos",     GGML_TYPE_I32, { n_mem,   shape.n_head_kv, 1 } },
        { "mem_score",   GGML_TYPE_F32, { n_mem,   shape.n_head_kv, 1 } },
        { "chunk_score", GGML_TYPE_F32, { n_chunk, shape.n_head_kv, 1 } },
    };
}

//
// one layer of a graph
//

namespace {

class votes_layer : public h2o_policy_layer {
public:
    votes_layer(
            const h2o_policy & policy,
            const h2o_layer  & l,
            const h2o_plan   & plan,
            const h2o_kept   & kept) :
        policy(policy), l(l), plan(plan), dst(kept.dst),
        mem_pos(kept.src[H2O_MEM_POS]), mem_score(kept.src[H2O_MEM_SCORE]), chunk_score(kept.src[H2O_CHUNK_SCORE]),
        tracked(plan.inherited.tracked) {
    }

    // Local and the best of what is tracked, with the scores that they have so far
    h2o_set build_set(int32_t ic, ggml_tensor *, const h2o_attn_block &) override {
        ggml_tensor * set = ggml_h2o_select(
                l.ctx, mem_pos, mem_score, chunk_score, tracked, plan.chunk_pos(ic), plan.n_local, plan.n_heavy);

        mem_score = ggml_h2o_lookup(l.ctx, set, mem_pos, mem_score, chunk_score, tracked);
        mem_pos   = set;
        has_set   = true;
        return { set, nullptr };
    }

    h2o_scores build_learn(int32_t ic, ggml_tensor * intra, ggml_tensor * inter) override {
        if (inter) {
            mem_score = ggml_add(l.ctx, mem_score, inter);
            h2o_expand(l, { mem_score });
        }
        chunk_score = intra;
        tracked     = policy.carry_after(plan, ic).tracked;

        return { has_set ? mem_score : nullptr, chunk_score };
    }

    void build_store() override {
        const auto store = [&](ggml_tensor * src, ggml_tensor * dst) {
            h2o_expand(l, { ggml_cpy(l.ctx, src, ggml_view_2d(l.ctx, dst, src->ne[0], src->ne[1], dst->nb[1], 0)) });
        };

        if (has_set) {
            store(mem_pos,   dst[H2O_MEM_POS]);
            store(mem_score, dst[H2O_MEM_SCORE]);
        }
        store(chunk_score, dst[H2O_CHUNK_SCORE]);
    }

private:
    const h2o_policy  & policy;
    const h2o_layer   & l;
    const h2o_plan    & plan;
    const h2o_tensors & dst;

    // what may be remembered when the next chunk begins, as the sources of selection
    ggml_tensor    * mem_pos;
    ggml_tensor    * mem_score;
    ggml_tensor    * chunk_score;
    ggml_h2o_tracked tracked;

    bool has_set = false; // mem_pos is of this graph
};

// a layer that reads the keys and values of another: it has that one's sets, and casts no votes
class votes_reader : public h2o_policy_layer {
public:
    votes_reader(const h2o_plan & plan, const std::vector<ggml_tensor *> & sets) : plan(plan), sets(sets) {}

    h2o_set build_set(int32_t ic, ggml_tensor *, const h2o_attn_block &) override {
        return { sets.at(ic - plan.ic_begin), nullptr };
    }

    h2o_scores build_learn(int32_t, ggml_tensor *, ggml_tensor *) override { return {}; }

    void build_store() override {}

private:
    const h2o_plan                   & plan;
    const std::vector<ggml_tensor *> & sets;
};

}

std::unique_ptr<h2o_policy_layer> h2o_policy_votes::begin_layer(
        const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) const {
    if (kept.owner_sets) {
        return std::make_unique<votes_reader>(plan, *kept.owner_sets);
    }
    return std::make_unique<votes_layer>(*this, l, plan, kept);
}

//
// what the host knows
//

h2o_carry h2o_policy_votes::carry_after(const h2o_plan & plan, int32_t ic) const {
    return { { plan.n_mem(ic), H2O_MEM_END, plan.chunk_pos(ic), plan.chunk_len(ic) }, 0 };
}

h2o_carry h2o_policy_votes::full_carry(const h2o_plan & call) const {
    return { { n_mem, H2O_MEM_END, call.pos - n_chunk, n_chunk }, 0 };
}

void h2o_policy_votes::truncate(h2o_carry & carry, llama_pos pos) const {
    ggml_h2o_tracked & t = carry.tracked;

    if (pos >= t.chunk_pos + t.n_chunk) {
        return; // everything tracked lies before
    }
    t.mem_end = std::min(t.mem_end, pos);
    t.n_chunk = std::clamp(pos - t.chunk_pos, 0, t.n_chunk);
}

bool h2o_policy_votes::is_valid(const h2o_carry & carry, llama_pos end) const {
    const ggml_h2o_tracked & t = carry.tracked;

    return
        t.n_mem   >= 0 && t.n_mem   <= n_mem   &&
        t.n_chunk >= 0 && t.n_chunk <= n_chunk &&
        t.chunk_pos >= 0 && (t.n_chunk == 0 || t.chunk_pos <= end - t.n_chunk);
}

// those members that count must ascend and lie before the end of the sequence
bool h2o_policy_votes::is_valid(
        const h2o_carry & carry, llama_pos end, size_t i_tensor, const ggml_tensor * t, const uint8_t * data) const {
    if (i_tensor != H2O_MEM_POS) {
        return true; // scores may be anything
    }
    for (int64_t ih = 0; ih < t->ne[1]; ++ih) {
        const int32_t * pos = (const int32_t *) (data + ih*t->nb[1]);

        for (int32_t i = 0; i < carry.tracked.n_mem; ++i) {
            if (pos[i] < 0 || (pos[i] >= end && pos[i] < carry.tracked.mem_end) || (i > 0 && pos[i] <= pos[i - 1])) {
                return false;
            }
        }
    }
    return true;
}
