// Grouped-query attention: scores and memory sets are per KV head, and the votes of a group are the sum of its heads'
// votes, whatever the size of the group.

#include "naive.h"
#include "testing.h"

static const int n_head_kv = 2;

static void test_groups(const test_context_params & params, int n_group) {
    tiny_model_params shape;
    shape.n_head    = n_head_kv*n_group;
    shape.n_head_kv = n_head_kv;

    const tiny_model model(shape);
    test_context ctx(model, params);
    naive_replay replay(ctx);

    int n_differ = 0;
    for (const int n : { 4*32 + 7, 2*32 }) {
        ctx.decode(tiny_prompt(n, n));
        replay.check_call();

        for (const test_trace & t : ctx.trace()) {
            CHECK(t.n_heads == n_head_kv);
            n_differ += !std::equal(t.mem_pos.begin(), t.mem_pos.begin() + t.n_mem, t.mem_pos.begin() + t.n_mem);
        }
    }
    CHECK(n_differ > 0);
    CHECK(replay.nmse_out < 1e-10 && replay.error_score < 1e-5);
}

int main() {
    for (const test_context_params & params : test_all_ways()) {
        for (const int n_group : { 1, 2, 3, 4, 8 }) {
            test_groups(params, n_group);
        }
    }

    printf("H2O GQA memory checks passed\n");
    return 0;
}
