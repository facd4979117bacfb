// Attention as a graph of stock ops (h2o-block-composed.h): the case that test-backend-ops has of the fused op, built of
// blocks instead, on random shapes and with logits to +-100. Keys before a chunk are a block of their own there, so the
// merge of two blocks has to be one softmax over all their keys. Then the merge with one side empty.

#include "backend-case.h"
#include "suite.h"

#include "h2o-block-composed.h"
#include "h2o-view.h"

#include "tests/test-backend-ops-h2o.h"

namespace {

struct composed_attn : public test_h2o_attn {
    using test_h2o_attn::test_h2o_attn;

    ggml_tensor * mask = nullptr;
    ggml_tensor * ones = nullptr;

    ggml_tensor * build_graph(ggml_context * ctx) override {
        test_h2o_attn::build_graph(ctx); // its inputs

        const int n_head = n_head_kv*n_group;

        mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, n_queries, n_rows);
        ones = has_votes ? ggml_new_tensor_1d(ctx, GGML_TYPE_F32, n_rows*n_head_kv*n_chunks) : nullptr;

        const h2o_block & block = h2o_composed_block();
        const h2o_layer   l     = {
            ctx, nullptr, ggml_reshape_3d(ctx, q, d_k, n_head, n_queries*n_chunks), ggml_reshape_3d(ctx, k_cache, d_k, n_head_kv, n_cells),
            v_trans ? ggml_view_3d(ctx, v_cache, n_cells, n_head_kv, d_v, d_v*v_cache->nb[1], v_cache->nb[1], 0)
                    : ggml_reshape_3d(ctx, v_cache, d_v, n_head_kv, n_cells),
            { scale() }, 0, n_group, block, has_votes, ones };

        ggml_tensor * rows = block.queries(l, 0, n_queries, n_chunks);

        const h2o_attn_block res = n_mem
            ? block.inter(l, rows, { set, order }, block.from_head(l, o), block.from_head(l, ggml_reshape_3d(ctx, lse, 1, n_head, n_queries)))
            : block.intra(l, rows, pos + n_near, n_near, n_queries, n_chunks, mask);

        CHECK((res.votes != nullptr) == has_votes);

        ggml_tensor * out = ggml_concat(ctx, flat(ctx, block.by_token(l, res.o)), flat(ctx, block.by_token(l, res.lse)), 0);
        return has_votes ? ggml_concat(ctx, out, flat(ctx, res.votes), 0) : out;
    }

    static ggml_tensor * flat(ggml_context * ctx, ggml_tensor * t) {
        return ggml_reshape_1d(ctx, t, ggml_nelements(t));
    }

    void initialize_tensors(ggml_context * ctx) override {
        test_h2o_attn::initialize_tensors(ctx);

        std::vector<ggml_fp16_t> causal;
        for (int row = 0; row < n_rows; ++row) {
            for (int j = 0; j < n_queries; ++j) {
                causal.push_back(ggml_fp32_to_fp16(j <= row/n_group ? 0.0f : -INFINITY));
            }
        }
        test_set(mask, causal);
        if (ones) {
            test_set(ones, std::vector<float>(ggml_nelements(ones), 1.0f));
        }
    }

    bool is_f32() const { return type_k == GGML_TYPE_F32 && type_v == GGML_TYPE_F32; }

    // products round queries and weights to the type of the cache
    double max_nmse_err() override { return is_f32() ? 1e-10 : 5e-4; }
};

// the same of what sets leave out, and its merge
struct composed_estimate : public test_h2o_estimate {
    using test_h2o_estimate::test_h2o_estimate;

    ggml_tensor * build_graph(ggml_context * ctx) override {
        test_h2o_estimate::build_graph(ctx); // its inputs

        const h2o_block & block = h2o_composed_block();
        const h2o_layer   l     = { ctx, nullptr, q, nullptr, nullptr, { scale() }, 0, n_group, block, false, nullptr };

        const h2o_attn_block other = { block.from_head(l, o), block.from_head(l, lse), nullptr };

        const auto reorder = [&](ggml_tensor * t, ggml_tensor * by) {
            return block.from_head(l, h2o_reorder(ctx, block.by_head(l, t), by));
        };
        const h2o_attn_block left = h2o_build_estimates(
                l, reorder(block.queries(l, 0, n_queries, 1), order), { set, order, { keys, values, n_cand } });

        ggml_tensor * inverse  = h2o_inverse_order(ctx, order);
        ggml_tensor * left_o   = reorder(left.o,   inverse);
        ggml_tensor * left_lse = reorder(left.lse, inverse);

        ggml_tensor * res_o   = h2o_build_fuse(ctx, left_o, left_lse, other.o, other.lse);
        ggml_tensor * res_lse = h2o_build_lse (ctx, other.lse, left_lse);

        return ggml_concat(ctx, composed_attn::flat(ctx, block.by_token(l, res_o)), composed_attn::flat(ctx, block.by_token(l, res_lse)), 0);
    }

    double max_nmse_err() override { return 1e-10; }
};

} // namespace

static void test_estimate(test_random & rnd) {
    const int n_cand = rnd.integer(128, 1500);

    composed_estimate c(2*rnd.integer(1, 48), rnd.integer(2, 40), rnd.integer(1, 4), rnd.integer(1, 3), rnd.integer(1, 200), n_cand,
            rnd.integer(1, n_cand));
    c.least_distance = -80.0f; // a query always sees its own key
    test_run(c, rnd.integer(1, 4));
}

static void test_block(test_random & rnd) {
    const ggml_type type_k = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0 });
    const ggml_type type_v = rnd.pick<ggml_type>({ type_k, GGML_TYPE_F32, GGML_TYPE_F16 });

    const int d_k = ggml_is_quantized(type_k) ? 32*rnd.integer(1, 3) : 2*rnd.integer(1, 48);
    const int d_v = ggml_is_quantized(type_v) ? 32*rnd.integer(1, 2) : rnd.integer(2, 40);

    test_h2o_keys keys = { rnd.integer(0, 1) ? rnd.integer(1, 90) : 0 };
    keys.has_blocks = keys.n_mem && rnd.integer(0, 1);
    keys.has_order  = keys.has_blocks;

    const int  n_queries = keys.has_blocks ? rnd.integer(1, 200) : rnd.integer(1, 40);
    const bool v_trans   = !ggml_is_quantized(type_v) && rnd.integer(0, 1);

    keys.n_near    = !keys.n_mem && rnd.integer(0, 1) ? rnd.integer(1, n_queries) : 0; // Local is shorter than a chunk
    keys.has_votes = !keys.has_blocks && !keys.n_near && rnd.integer(0, 3); // with blocks or Local nobody votes

    composed_attn c(type_k, type_v, d_k, rnd.integer(1, 8), n_queries, rnd.integer(1, 3), keys.n_mem ? 1 : rnd.integer(1, 3),
            keys, v_trans, keys.n_mem > 0, d_v);
    c.q_max = c.is_f32() ? rnd.pick<float>({ 1.0f, 8.0f, 80.0f }) : 4.0f;

    const std::vector<float> got = test_run(c, rnd.integer(1, 4));

    // F32 logits of 100 carry 1e-5 into the exponent
    CHECK(!c.is_f32() || std::equal(got.begin(), got.end(), c.expected.begin(), [&](double a, double b) {
        return std::fabs(a - b) <= 2e-4*std::max(1.0, std::fabs(b));
    }));
}

static void test_estimates() {
    test_random rnd;

    for (int i = 0; i < 60; ++i) {
        test_estimate(rnd);
    }
}

// a side that nobody sees, or that is nothing beside the other
static void test_one_side() {
    const float inf = INFINITY;

    test_graph g;
    ggml_tensor * o_a   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 2, 5);
    ggml_tensor * o_b   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 2, 5);
    ggml_tensor * lse_a = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 1, 5);
    ggml_tensor * lse_b = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 1, 5);
    ggml_tensor * res   = h2o_build_fuse(g.ctx.get(), o_a, lse_a, o_b, lse_b);

    g.alloc();
    test_set<float>(o_a,   { 1, 2,   0, 0,   5, 6,   1, 2,   0, 0 });
    test_set<float>(o_b,   { 0, 0,   3, 4,   7, 8,   0, 0,   3, 4 });
    test_set<float>(lse_a, { -100,   -inf,   100,    100,    -100 });
    test_set<float>(lse_b, { -inf,   100,    100,    -100,   100 });
    g.compute({ res });

    CHECK(test_get<float>(res) == std::vector<float>({ 1, 2,   3, 4,   6, 7,   1, 2,   3, 4 }));
}

static void test_blocks() {
    test_random rnd;

    for (int i = 0; i < 300; ++i) {
        test_block(rnd);
    }
}

static const suite cases("online-softmax", [](suite & s) {
    s.add("random blocks", test_blocks, TEST_WAYS);
    s.add("estimates",     test_estimates);
    s.add("one side",      test_one_side);
});
