// What the host knows of the state between calls, and the budget that a chunk allows.

#include "testing.h"

#include "h2o-state.h"

#include <climits>

static h2o_plan plan_of(const h2o_state & state, llama_pos pos, int32_t n_tokens) {
    h2o_plan plan;
    plan.n_tokens  = n_tokens;
    plan.pos       = pos;
    plan.n_chunk   = 32;
    plan.n_local   = 8;
    plan.n_heavy   = 16;
    plan.src       = state.buf;
    plan.inherited = state.tracked;
    return plan;
}

static void test_plan() {
    const h2o_plan plan = plan_of({}, 10, 3*32 + 5);

    CHECK(plan.n_full() == 3 && plan.n_tail() == 5 && plan.n_chunks() == 4);
    CHECK(plan.chunk_pos(3) == 10 + 96 && plan.chunk_len(2) == 32 && plan.chunk_len(3) == 5);
    CHECK(plan.n_mem(0) == 10 && plan.n_mem(1) == 24);
    CHECK(plan.n_inherited() == 0);
    CHECK(plan == plan_of({}, 10, 101) && !(plan == plan_of({}, 11, 101)));
}

static void test_life() {
    h2o_state state;
    CHECK(state.empty());

    // each call writes the buffer that it does not read
    state.advance(plan_of(state, 0, 70));
    CHECK(state.buf == 1 && state.tracked.n_mem == 24 && state.tracked.mem_end == INT_MAX);
    CHECK(state.tracked.chunk_pos == 64 && state.tracked.n_chunk == 6);
    CHECK(plan_of(state, 70, 40).n_inherited() == 24);

    state.advance(plan_of(state, 70, 64));
    CHECK(state.buf == 0 && state.tracked.chunk_pos == 102 && state.tracked.n_chunk == 32);

    // past the last chunk: nothing
    h2o_state cut = state;
    cut.truncate(134);
    CHECK(cut.tracked.n_chunk == 32);

    // inside the last chunk, then before it, then up again: what is gone stays gone
    cut.truncate(110);
    CHECK(cut.tracked.n_chunk == 8 && cut.tracked.n_mem == 24 && cut.tracked.mem_end == 110);
    cut.truncate(50);
    CHECK(cut.tracked.n_chunk == 0 && cut.tracked.mem_end == 50);
    cut.truncate(100);
    CHECK(cut.tracked.n_chunk == 0 && cut.tracked.mem_end == 50);

    cut.truncate(0);
    CHECK(cut.empty() && cut.buf == 0);
}

static void test_budget() {
    const auto clamp = [](uint32_t l, uint32_t h, uint32_t s, uint32_t l_used, uint32_t h_used) {
        const h2o_budget used = h2o_budget_clamp({ l, h }, s);
        CHECK(used.n_local == l_used && used.n_heavy == h_used);
    };

    clamp(256, 256, 1024, 256, 256);
    clamp(256, 256,  512, 256, 255);
    clamp(511,   0,  512, 511,   0);
    clamp(512,   0,  512, 511,   0);
    clamp(600, 300,  512, 511,   0);
    clamp(  0, 900,  512,   0, 511);
    clamp(  0,   0,  512,   0,   0);
    clamp(  5,   5,    1,   0,   0);
    clamp(UINT32_MAX, UINT32_MAX, 512, 511, 0);
    clamp(1, UINT32_MAX, 512, 1, 510);
}

int main() {
    test_plan();
    test_life();
    test_budget();

    printf("state: plans, calls, removals and budgets are right\n");
    return 0;
}
