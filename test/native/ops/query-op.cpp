// GGML_OP_H2O, PAGES, ORDER, QUERY and ESTIMATE: the cases of test-backend-ops on random shapes and types, with ties and NaN, for 1 to 8
// threads.

#include "backend-case.h"
#include "suite.h"

#include "tests/test-backend-ops-h2o.h"

static void test_random_case(test_random & rnd, int n_threads) {
    const ggml_type type = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0,
                                                 GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 });
    const int       d    = ggml_is_quantized(type) ? rnd.pick<int>({ 32, 64, 96 }) : rnd.pick<int>({ 16, 24, 32, 64, 72, 80 });

    // NaN has no place in a quantised key
    const auto kind = (test_h2o_kind) rnd.integer(0, ggml_is_quantized(type) ? TEST_H2O_TIES : TEST_H2O_SPECIAL);

    const int  n_head    = rnd.integer(1, 3);
    const int  n_group   = rnd.integer(1, 4);
    const int  n_cand    = rnd.pick<int>({ rnd.integer(1, 130), 1, 63, 64, 65, 64*rnd.integer(2, 40), rnd.integer(100, 3000) });
    const int  n_local   = rnd.integer(0, 2) ? rnd.integer(0, 300) : 0;
    const int  n_heavy   = rnd.pick<int>({ 1, rnd.integer(2, 100), rnd.integer(200, 3000), n_cand, std::max(1, n_cand - 1) });
    const int  n_queries = rnd.pick<int>({ 1, 64, 65, rnd.integer(2, 150), rnd.integer(2, 150), rnd.integer(150, 700) });
    const bool has_order = rnd.integer(0, 2);

    test_h2o_query query(type, d, n_group, n_head, n_queries, n_cand + n_local, n_local, n_heavy, has_order, kind);
    test_run(query, n_threads);

    if (const int n_pages = n_cand/GGML_H2O_PAGE) {
        const int begin = rnd.integer(0, n_pages - 1);
        test_h2o_pages pages(type, d, n_head, n_cand, begin, rnd.integer(begin + 1, n_pages), !ggml_is_quantized(type) && rnd.integer(0, 1));
        test_run(pages, n_threads);
    }
}

static void test_random_order(test_random & rnd, int n_threads) {
    const int d         = rnd.pick<int>({ rnd.integer(1, 40), 64, 96, 128, 256 });
    const int n_head    = rnd.integer(1, 5);
    const int n_queries = rnd.pick<int>({ rnd.integer(1, 64), 64*rnd.integer(1, 9), rnd.integer(65, 300), rnd.integer(300, 4096) });
    const int exponent  = rnd.pick<int>({ 3, rnd.integer(-10, 10), rnd.integer(-160, 128) });

    test_h2o_order order(d, n_head, n_queries, (test_h2o_kind) rnd.integer(0, TEST_H2O_SPECIAL), exponent);
    if (n_head*n_queries != test_case::sentinel_size) {
        test_run(order, n_threads);
    }
}

static void test_random_estimate(test_random & rnd, int n_threads) {
    const int n_cand = rnd.pick<int>({ rnd.integer(128, 300), 64*rnd.integer(2, 40), rnd.integer(300, 20000) });
    const int n_set  = rnd.pick<int>({ 1, rnd.integer(1, 100), rnd.integer(1, n_cand), n_cand });
    const int d_k    = rnd.pick<int>({ rnd.integer(2, 100), 64, 128, 256 });
    const int d_v    = rnd.pick<int>({ rnd.integer(3, 100), 64, 128, 256 });

    test_h2o_estimate estimate(d_k, d_v, rnd.integer(1, 7), rnd.integer(1, 3), rnd.pick<int>({ 1, 64, 65, rnd.integer(2, 300) }), n_cand,
            n_set, rnd.integer(0, 2), (test_h2o_kind) rnd.integer(0, TEST_H2O_SPECIAL));
    test_run(estimate, n_threads);
}

// argument: how many
static void test_random_cases() {
    test_random rnd;

    const int n_cases = test_argument(0, 150);
    for (int i = 0; i < n_cases; ++i) {
        test_random_case (rnd, 2 + i % 7);
        test_random_order(rnd, 2 + i % 7);
        test_random_estimate(rnd, 2 + i % 7);
    }
}

static const suite cases("query-op", [](suite & s) {
    s.add("random cases", test_random_cases);
});
