// Grouped-query attention: sets and scores are per KV head, and every query of each head of a group casts one vote, whatever
// the size of the group. Which sets and scores these are is in test/engine.

#include "testing.h"
#include "ways.h"

#include <cmath>
#include <numeric>

static const int n_head_kv = 2;

static void test_groups(const tiny_model & model, const test_context_params & params) {
    const int n_group = model.params.n_head/n_head_kv;

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

static const suite cases("gqa-memory", [](suite & s) {
    for (const int n_group : { 1, 2, 3, 4, 8 }) {
        tiny_model_params shape;
        shape.n_head    = n_head_kv*n_group;
        shape.n_head_kv = n_head_kv;
        add_in_ways(s, "groups of " + std::to_string(n_group), test_groups, shape, test_votes_ways());
    }
});
