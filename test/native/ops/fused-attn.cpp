// GGML_OP_H2O, ATTN: the case of test-backend-ops on random shapes, in every type and layout that a KV cache has, for 1 to 8
// threads, and value by value: output, row statistics and votes are held closer here than a device has to be.

#include "backend-case.h"
#include "suite.h"

#include "tests/test-backend-ops-h2o.h"

static test_h2o_attn random_case(test_random & rnd) {
    const std::vector<int>       sizes = { 32, 64, 80, 96, 128, 256 };
    const std::vector<ggml_type> types = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0 };

    // the rows of a quantised cache hold whole blocks
    const auto whole = [](ggml_type type, int d) { return d/ggml_blck_size(type)*ggml_blck_size(type); };

    const ggml_type type_k = rnd.pick(types);
    const ggml_type type_v = rnd.pick(types);
    const int       d_k    = whole(type_k, rnd.pick(sizes));
    const int       d_v    = whole(type_v, rnd.integer(0, 3) ? d_k : rnd.pick(sizes));

    const int n_queries = rnd.integer(0, 3) ? rnd.integer(1, 70) : rnd.integer(1, 300);

    test_h2o_keys keys = { rnd.integer(0, 1) ? rnd.integer(1, 400) : 0 };
    keys.n_near     = !keys.n_mem && rnd.integer(0, 1) ? rnd.integer(1, 150) : 0;
    keys.has_blocks = keys.n_mem  && rnd.integer(0, 1);
    keys.has_order  = keys.has_blocks && rnd.integer(0, 2);
    keys.has_votes  = !keys.has_blocks && rnd.integer(0, 1);

    const int  n_chunks  = keys.n_mem ? 1 : rnd.integer(1, 3);
    const bool v_trans   = !ggml_is_quantized(type_v) && rnd.integer(0, 1);
    const bool has_state = rnd.integer(0, 1);

    return test_h2o_attn(type_k, type_v, d_k, rnd.integer(1, 8), n_queries, rnd.integer(1, 3), n_chunks, keys, v_trans, has_state, d_v);
}

// argument: how many cases
static void test_random_shapes() {
    test_random rnd;

    const char * int16 = getenv("H2O_INT16");

    const int n_cases = test_argument(0, 200);
    for (int i = 0; i < n_cases; ++i) {
        test_h2o_attn c = random_case(rnd);

        const std::vector<float> got = test_run(c, rnd.integer(1, 8));

        // without votes a processor may have other instructions, which round what is not F32
        const bool   rounds = !c.has_votes && (!int16 || atoi(int16) != 0) && c.type_k != GGML_TYPE_F32 && c.type_v != GGML_TYPE_F32;
        const double most   = rounds ? 2e-3 : 1e-4;

        // of outputs between -1 and 1; logits reach 50
        CHECK(std::equal(got.begin(), got.end(), c.expected.begin(), c.expected.end(), [&](double a, double b) {
            return std::fabs(a - b) <= most*std::max(1.0, std::fabs(b));
        }));
    }
}

static const suite cases("fused-attn", [](suite & s) {
    s.add("random shapes", test_random_shapes);
});
