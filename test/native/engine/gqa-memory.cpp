// Grouped-query attention: sets and scores are per KV head, and every query of each head of a group casts one vote, whatever
// the size of the group. Which sets and scores these are is in test/engine.

#include "test-context.h"
#include "suite.h"
#include "testing.h"

#include <cmath>
#include <numeric>

static const int n_head_kv = 2;

static void test_groups(const test_context_params & params, int n_group) {
    tiny_model_params shape;
    shape.n_head    = n_head_kv*n_group;
    shape.n_head_kv = n_head_kv;

    const tiny_model model(shape);
    test_context ctx(model, params);

    int n_differ = 0;
    for (const int n : { 4*32 + 7, 2*32 }) {
        ctx.decode(tiny_prompt(n, n));

        for (const test_trace & t : ctx.trace()) {
            CHECK(t.n_heads == n_head_kv);
            n_differ += !std::equal(t.mem_pos.begin(), t.mem_pos.begin() + t.n_mem, t.mem_pos.begin() + t.n_mem);

            for (int h = 0; h < n_head_kv; ++h) {
                const auto begin = t.chunk_score.begin() + h*t.n_chunk;
                CHECK(std::fabs(std::accumulate(begin, begin + t.n_chunk, 0.0)/(n_group*t.n_chunk) - 1.0) < 1e-5);
            }
        }
    }
    CHECK(n_differ > 0);
}

static void test_all() {
    for (const test_context_params & params : test_all_ways()) {
        for (const int n_group : { 1, 2, 3, 4, 8 }) {
            test_groups(params, n_group);
        }
    }
}

static const suite cases("gqa-memory", [](suite & s) {
    s.add("all", test_all);
});
