#include "h2o-policy-query.h"

#include "h2o-view.h"

#include "ops/ggml-h2o.h"

#include <algorithm>

// of one layer
enum {
    H2O_PAGE_KEYS,   // F32 [d_k, pages, n_head_kv] mean keys
    H2O_PAGE_VALUES, // F32 [d_v, pages, n_head_kv] mean values
};

std::vector<h2o_tensor_spec> h2o_policy_query::index(const h2o_layer_shape & shape) const {
    const int64_t n_pages = std::max<int64_t>(1, shape.n_cells/GGML_H2O_PAGE);

    return {
        { "pages",       GGML_TYPE_F32, { shape.d_k, n_pages, shape.n_head_kv } },
        { "page_values", GGML_TYPE_F32, { shape.d_v, n_pages, shape.n_head_kv } },
    };
}

namespace {

class query_layer : public h2o_policy_layer {
public:
    // The index grows by what is complete before the graph's last chunk. A layer that reads the keys of another finds
    // it grown.
    query_layer(const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) :
        l(l), plan(plan), keys(h2o_view_cells(l.ctx, l.k)),
        page_keys(kept.index[H2O_PAGE_KEYS]), page_values(kept.index[H2O_PAGE_VALUES]) {
        if (kept.owner_sets) {
            return;
        }
        const int32_t begin = plan.inherited.n_indexed/GGML_H2O_PAGE;
        const int32_t end   = plan.chunk_pos(plan.ic_end - 1)/GGML_H2O_PAGE;

        if (begin < end) {
            page_keys   = ggml_h2o_pages(l.ctx, keys, page_keys, false, begin, end);
            page_values = ggml_h2o_pages(
                    l.ctx, h2o_view_cells(l.ctx, l.v), page_values, h2o_is_transposed(l.v), begin, end);
        }
        // also where no chunk of this graph searches
        h2o_expand(l, { page_keys, page_values });
    }

    h2o_set build_set(int32_t ic, ggml_tensor * q, const h2o_attn_block & intra) override {
        const int32_t n_cand = plan.n_cand(ic);

        q = l.block.by_head(l, q);

        ggml_tensor * order = ggml_h2o_order(l.ctx, q);
        ggml_tensor * sets  = ggml_h2o_query(l.ctx, q, order, l.block.by_head(l, intra.lse), keys, page_keys,
                plan.chunk_pos(ic), plan.n_local, plan.n_mem(ic), l.softmax.scale);

        const bool leaves_out = sets->ne[0] < n_cand && n_cand >= 2*GGML_H2O_PAGE;

        return { sets, order, leaves_out ? h2o_left_out{ page_keys, page_values, n_cand } : h2o_left_out{} };
    }

    h2o_scores build_learn(int32_t, ggml_tensor *, ggml_tensor *) override { return {}; }

    void build_store() override {}

private:
    const h2o_layer & l;
    const h2o_plan  & plan;

    ggml_tensor * keys;
    ggml_tensor * page_keys;
    ggml_tensor * page_values;
};

}

std::unique_ptr<h2o_policy_layer> h2o_policy_query::begin_layer(
        const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) const {
    return std::make_unique<query_layer>(l, plan, kept);
}

h2o_carry h2o_policy_query::carry_after(const h2o_plan & plan, int32_t ic) const {
    return { {}, std::max(plan.inherited.n_indexed, plan.chunk_pos(ic)) };
}

void h2o_policy_query::truncate(h2o_carry & carry, llama_pos pos) const {
    carry.n_indexed = std::min(carry.n_indexed, pos);
}
