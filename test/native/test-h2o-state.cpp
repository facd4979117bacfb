// What the host knows of the state between calls, and the budget that a chunk allows.

#include "testing.h"

#include "h2o-state.h"

#include <climits>

// a call of so many tokens at this position, as the state plans it
static std::vector<h2o_plan> plan(const h2o_state & state, llama_pos pos, int32_t n_tokens, h2o_schedule schedule) {
    h2o_plan call;
    call.n_tokens = n_tokens;
    call.pos      = pos;
    call.n_chunk  = 32;
    call.n_local  = 8;
    call.n_heavy  = 16;
    return state.plan(call, schedule);
}

static void test_chunks() {
    const h2o_plan p = plan({}, 10, 3*32 + 5, H2O_SCHEDULE_SINGLE_PASS)[0];

    CHECK(p.n_full() == 3 && p.n_tail() == 5 && p.n_chunks() == 4);
    CHECK(p.chunk_pos(3) == 10 + 96 && p.chunk_len(2) == 32 && p.chunk_len(3) == 5);
    CHECK(p.n_mem(0) == 10 && p.n_mem(1) == 24);

    CHECK(p == plan({}, 10, 101, H2O_SCHEDULE_SINGLE_PASS)[0]);
    CHECK(!(p == plan({}, 11, 101, H2O_SCHEDULE_SINGLE_PASS)[0]));
    CHECK(!(p == plan({}, 10, 101, H2O_SCHEDULE_TWO_PASS)[0]));
}

// one graph; two of them by turns
static void test_single_pass() {
    h2o_state state;

    for (int i = 0; i < 4; ++i) {
        const std::vector<h2o_plan> plans = plan(state, 70*i, 70, H2O_SCHEDULE_SINGLE_PASS);

        CHECK(plans.size() == 1 && plans[0].phase == H2O_PHASE_BOTH);
        CHECK(plans[0].ic_begin == 0 && plans[0].ic_end == 3 && plans[0].n_graph_tokens() == 70);
        CHECK(plans[0].src == state.buf && plans[0].dst == 1 - state.buf);

        state.advance(plans[0]);
        CHECK(state.n_chunks == 3*(i + 1));
    }
}

// phase 1 over all tokens, then a graph per chunk that goes on from the one before; never into the buffer of the state
static void test_two_pass() {
    h2o_state state;

    for (int i = 0; i < 4; ++i) {
        const std::vector<h2o_plan> plans = plan(state, 101*i, 101, H2O_SCHEDULE_TWO_PASS);

        CHECK(plans.size() == 1 + 4);
        CHECK(plans[0].phase == H2O_PHASE_INTRA && plans[0].n_graph_tokens() == 101 && plans[0].ic_begin == plans[0].ic_end);

        for (int ic = 0; ic < 4; ++ic) {
            const h2o_plan & p = plans[1 + ic];

            CHECK(p.phase == H2O_PHASE_INTER && p.ic_begin == ic && p.ic_end == ic + 1 && p.n_graph_tokens() == (ic < 3 ? 32 : 5));
            CHECK(p.src == (ic == 0 ? state.buf : plans[ic].dst));
            CHECK(p.dst != p.src && p.dst != state.buf && p.dst >= 0 && p.dst < 3);

            const ggml_h2o_tracked & inherited = p.inherited;
            if (ic == 0) {
                CHECK(inherited.n_mem == state.tracked.n_mem && inherited.n_chunk == state.tracked.n_chunk);
            } else {
                CHECK(inherited.chunk_pos == 101*i + 32*(ic - 1) && inherited.n_chunk == 32 && inherited.mem_end == INT_MAX);
                CHECK(inherited.n_mem == (i == 0 && ic == 1 ? 0 : 24));
            }
        }

        state.advance(plans.back());
        CHECK(state.tracked.chunk_pos == 101*i + 96 && state.tracked.n_chunk == 5 && state.n_chunks == 4*(i + 1));
    }
}

static void test_life() {
    h2o_state state;
    CHECK(state.empty());

    state.advance(plan(state, 0, 70, H2O_SCHEDULE_SINGLE_PASS)[0]);
    CHECK(state.buf == 1 && state.tracked.n_mem == 24 && state.tracked.mem_end == INT_MAX);
    CHECK(state.tracked.chunk_pos == 64 && state.tracked.n_chunk == 6);

    state.advance(plan(state, 70, 64, H2O_SCHEDULE_SINGLE_PASS)[0]);
    CHECK(state.buf == 0 && state.tracked.chunk_pos == 102 && state.tracked.n_chunk == 32);

    // past the last chunk: nothing
    h2o_state cut = state;
    cut.truncate(134);
    CHECK(cut.tracked.n_mem == 24 && cut.tracked.n_chunk == 32);

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
    test_chunks();
    test_single_pass();
    test_two_pass();
    test_life();
    test_budget();

    printf("H2O state checks passed\n");
    return 0;
}
