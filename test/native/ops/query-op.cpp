// GGML_OP_H2O, PAGES, LANDMARKS and QUERY: the cases of test-backend-ops on random shapes and types, with ties and NaN, for
// 1 to 8 threads.

#include "backend-case.h"
#include "suite.h"

#include "tests/test-backend-ops-h2o.h"

static void test_random_case(test_random & rnd, int n_threads) {
    const ggml_type type = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0 });
    const int       d    = ggml_is_quantized(type) ? rnd.pick<int>({ 32, 96 }) : rnd.pick<int>({ 16, 24, 32, 80 });

    // NaN has no place in a quantised key
    const auto kind = (test_h2o_kind) rnd.integer(0, ggml_is_quantized(type) ? TEST_H2O_TIES : TEST_H2O_SPECIAL);

    const int n_head    = rnd.integer(1, 3);
    const int n_group   = rnd.integer(1, 4);
    const int pos       = rnd.pick<int>({ rnd.integer(1, 300), 64*rnd.integer(1, 20), 256*rnd.integer(1, 5), rnd.integer(1000, 3000) }); // 32 pages and more
    const int n_local   = rnd.integer(0, 2) ? rnd.integer(0, std::min(pos - 1, 300)) : 0;
    const int n_heavy   = rnd.pick<int>({ rnd.integer(1, 8), rnd.integer(8, 100), rnd.integer(200, 800) });
    const int n_queries = rnd.integer(0, 7) ? rnd.integer(1, 150) : rnd.integer(500, 1100); // blocks that search together, and more

    test_h2o_query query(type, d, n_group, n_head, n_queries, pos, n_local, n_heavy, kind);
    test_run(query, n_threads);

    if (const int n_pages = pos/GGML_H2O_PAGE) {
        const int begin = rnd.integer(0, n_pages - 1);
        test_h2o_pages pages(type, d, n_head, pos, begin, rnd.integer(begin + 1, n_pages));
        test_run(pages, n_threads);
    }
    if (const int n_spans = pos/GGML_H2O_SPAN) {
        const int begin = rnd.integer(0, n_spans - 1);
        test_h2o_landmarks landmarks(type, d, n_head, pos, kind, begin, rnd.integer(begin + 1, n_spans));
        test_run(landmarks, n_threads);
    }
}

// argument: how many
static void test_random_cases() {
    test_random rnd;

    const int n_cases = test_argument(0, 150);
    for (int i = 0; i < n_cases; ++i) {
        test_random_case(rnd, 2 + i % 7);
    }
}

static const suite cases("query-op", [](suite & s) {
    s.add("random cases", test_random_cases);
});
