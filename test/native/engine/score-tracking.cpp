// Scores: column sums of weights that can be worked out on paper. Those of whole models are in test/engine, over so many
// chunks that a smaller type would lose what is added.

#include "suite.h"
#include "testing.h"

#include "h2o-block-composed.h"

#include <cmath>

static void test_on_paper() {
    const float ln2 = std::log(2.0f);
    const float ln3 = std::log(3.0f);

    test_graph g;
    ggml_tensor * q    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 3, 3, 1, 1);
    ggml_tensor * k    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 3, 3, 1, 1);
    ggml_tensor * v_t  = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 3, 1, 1, 1);
    ggml_tensor * mask = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F16, 3, 3);
    ggml_tensor * ones = ggml_new_tensor_1d(g.ctx.get(), GGML_TYPE_F32, 3);

    const h2o_attn_block intra = h2o_build_attn_block(g.ctx.get(), q, k, v_t, mask,    ones, { 1.0f });
    const h2o_attn_block inter = h2o_build_attn_block(g.ctx.get(), q, k, v_t, nullptr, ones, { 1.0f });

    const ggml_fp16_t on  = ggml_fp32_to_fp16(0.0f);
    const ggml_fp16_t off = ggml_fp32_to_fp16(-INFINITY);

    g.alloc();
    test_set<float>(k, { 1, 0, 0,   0, 1, 0,   0, 0, 1 }); // so that q holds the logits
    test_set<float>(q, {
        0,   ln3, 0,
        0,   ln3, ln2,
        0,   0,   ln2 });
    test_set<ggml_fp16_t>(mask, {
        on, off, off,
        on, on,  off,
        on, on,  on });
    test_set<float>(v_t,  { 0, 0, 0 });
    test_set<float>(ones, { 1, 1, 1 });
    g.compute({ intra.votes, inter.votes });

    // intra weights:  1   0   0     inter weights:  1/5 3/5 1/5
    //                 1/4 3/4 0                     1/6 3/6 2/6
    //                 1/4 1/4 2/4                   1/4 1/4 2/4
    const double intra_expected[3] = { 1.5, 1.0, 0.5 };
    const double inter_expected[3] = { 37/60.0, 81/60.0, 62/60.0 };

    for (int j = 0; j < 3; ++j) {
        CHECK(std::fabs(test_get<float>(intra.votes)[j] - intra_expected[j]) < 1e-6);
        CHECK(std::fabs(test_get<float>(inter.votes)[j] - inter_expected[j]) < 1e-6);
    }
}

static const suite cases("score-tracking", [](suite & s) {
    s.add("on paper", test_on_paper, TEST_WAYS);
});
