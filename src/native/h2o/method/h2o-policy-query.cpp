#include "h2o-policy-query.h"

#include "h2o-view.h"

#include "ops/ggml-h2o.h"

#include <algorithm>

// of one layer
enum {
    H2O_PAGES,     // F32 [d_k, pages, n_head_kv] mean keys
    H2O_LANDMARKS, // I32 [landmarks, n_head_kv] positions
};

std::vector<h2o_tensor_spec> h2o_policy_query::index(const h2o_layer_shape & shape) const {
    const int64_t n_pages = std::max<int64_t>(1, shape.n_cells/GGML_H2O_PAGE);
    const int64_t n_spans = std::max<int64_t>(1, shape.n_cells/GGML_H2O_SPAN);

    return {
        { "pages",     GGML_TYPE_F32, { shape.d_k, n_pages, shape.n_head_kv } },
        { "landmarks", GGML_TYPE_I32, { n_spans*GGML_H2O_LANDMARKS, shape.n_head_kv, 1 } },
    };
}

namespace {

class query_layer : public h2o_policy_layer {
public:
    // The index grows by what is complete before the graph's last chunk. A layer that reads the keys of another finds
    // it grown.
    query_layer(const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) :
        l(l), plan(plan), keys(h2o_view_cells(l.ctx, l.k)),
        pages(kept.index[H2O_PAGES]), landmarks(kept.index[H2O_LANDMARKS]) {
        if (kept.owner_sets) {
            return;
        }
        const int32_t begin = plan.inherited.n_indexed;
        const int32_t end   = plan.chunk_pos(plan.ic_end - 1);

        if (begin/GGML_H2O_PAGE < end/GGML_H2O_PAGE) {
            pages = ggml_h2o_pages(l.ctx, keys, pages, begin/GGML_H2O_PAGE, end/GGML_H2O_PAGE);
        }
        if (begin/GGML_H2O_SPAN < end/GGML_H2O_SPAN) {
            landmarks = ggml_h2o_landmarks(l.ctx, keys, pages, landmarks, begin/GGML_H2O_SPAN, end/GGML_H2O_SPAN);
        }
        // also where no chunk of this graph searches
        h2o_expand(l, { pages, landmarks });
    }

    ggml_tensor * build_set(int32_t ic, ggml_tensor * q, const h2o_attn_block & intra) override {
        return ggml_h2o_query(l.ctx, l.block.by_head(l, q), l.block.by_head(l, intra.lse), keys, pages, landmarks,
                plan.chunk_pos(ic), plan.n_local, plan.n_mem(ic), l.softmax.scale);
    }

    h2o_scores build_learn(int32_t, ggml_tensor *, ggml_tensor *) override { return {}; }

    void build_store() override {}

private:
    const h2o_layer & l;
    const h2o_plan  & plan;

    ggml_tensor * keys;
    ggml_tensor * pages;
    ggml_tensor * landmarks;
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
