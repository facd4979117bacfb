// The memory sets of whole models: Local is the tail, Heavy the top by score of what was remembered and of the last
// chunk.

#include "naive.h"
#include "testing.h"

#include <algorithm>

static void test_model(test_context_params params, int n_head_kv, int n_local, int n_heavy) {
    tiny_model_params mparams;
    mparams.n_head_kv = n_head_kv;

    params.n_local = n_local;
    params.n_heavy = n_heavy;

    const tiny_model model(mparams);
    test_context ctx(model, params);
    naive_replay replay(ctx);

    const int S = params.n_chunk;

    bool is_propagated = false; // a position of chunk 0 in the Heavy of chunk 3
    bool do_differ     = false; // two heads of a layer

    for (const int n : { 8*S, 20, 3*S + 5, 4*S }) {
        ctx.decode(tiny_prompt(n, n));
        replay.check_call(); // the very sets that the scores ask for

        for (const test_trace & t : ctx.trace()) {
            CHECK(t.n_mem == std::min(t.pos, n_local + n_heavy));

            for (int ih = 0; ih < t.n_heads; ++ih) {
                const int32_t * set = t.mem_pos.data() + ih*t.n_mem;

                for (int i = 0; i < t.n_mem; ++i) {
                    CHECK(set[i] >= 0 && set[i] < t.pos);
                    CHECK(i == 0 || set[i] > set[i - 1]);
                }
                for (int i = 0; i < std::min(t.pos, n_local); ++i) {
                    CHECK(set[t.n_mem - 1 - i] == t.pos - 1 - i);
                }
                is_propagated = is_propagated || (t.pos == 3*S && n_heavy > 0 && set[0] < S);
                do_differ     = do_differ     || (t.pos > 0 && !std::equal(set, set + t.n_mem, t.mem_pos.begin()));
            }
        }
    }
    CHECK(is_propagated == (n_heavy > 0));
    CHECK(do_differ     == (n_heavy > 0 && n_head_kv > 1));

    // not all the same all the time
    CHECK(n_heavy == 0 || replay.n_turnovers > replay.n_selections/10);
}

int main() {
    for (const test_context_params & params : test_all_ways()) {
        for (const int n_head_kv : { 1, 2, 4 }) {
            test_model(params, n_head_kv, 8, 16);
            test_model(params, n_head_kv, 0, 31);
            test_model(params, n_head_kv, 4, 27);
            test_model(params, n_head_kv, 31, 0);
        }
    }

    printf("H2O memory selection checks passed\n");
    return 0;
}
