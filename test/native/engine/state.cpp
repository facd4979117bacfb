// What the host knows of the state between calls, under the policy `votes`, and the budget that a chunk allows.

#include "suite.h"
#include "testing.h"

#include "h2o-policy-votes.h"
#include "h2o-state.h"

#include <climits>

static const h2o_params budget_of_tests = [] {
    h2o_params res = h2o_default_params();
    res.n_local = 8;
    res.n_heavy = 16;
    return res;
}();

static const h2o_policy_votes policy(*h2o_get_policy_traits(H2O_POLICY_VOTES), budget_of_tests, 32);

// a call of so many tokens at this position, as the state plans it
static std::vector<h2o_plan> plan(
        const h2o_state & state, llama_pos pos, int32_t n_tokens, h2o_schedule schedule, int32_t n_graph_chunks = 100) {
    h2o_plan call;
    call.n_tokens = n_tokens;
    call.pos      = pos;
    call.n_chunk  = 32;
    call.n_local  = budget_of_tests.n_local;
    call.n_heavy  = budget_of_tests.n_heavy;
    return state.plan(call, schedule, n_graph_chunks);
}

static void test_chunks() {
    const h2o_plan p = plan(h2o_state(policy), 10, 3*32 + 5, H2O_SCHEDULE_SINGLE_PASS)[0];

    CHECK(p.n_full() == 3 && p.n_tail() == 5 && p.n_chunks() == 4);
    CHECK(p.chunk_pos(3) == 10 + 96 && p.chunk_len(2) == 32 && p.chunk_len(3) == 5);
    CHECK(p.n_mem(0) == 10 && p.n_mem(1) == 24);

    CHECK(p == plan(h2o_state(policy), 10, 101, H2O_SCHEDULE_SINGLE_PASS)[0]);
    CHECK(!(p == plan(h2o_state(policy), 11, 101, H2O_SCHEDULE_SINGLE_PASS)[0]));
    CHECK(!(p == plan(h2o_state(policy), 10, 101, H2O_SCHEDULE_TWO_PASS)[0]));
    CHECK(!(p == plan(h2o_state(policy), 10, 101, H2O_SCHEDULE_SINGLE_PASS, 3)[0]));
}

// the chunks of consecutive graphs, and what each of them holds
static void test_cut(int32_t n_graph_chunks, const std::vector<std::vector<int32_t>> & expected) {
    const std::vector<h2o_plan> plans = plan(h2o_state(policy), 10, 3*32 + 5, H2O_SCHEDULE_SINGLE_PASS, n_graph_chunks);

    CHECK(plans.size() == expected.size());

    int32_t ic = 0;
    for (size_t i = 0; i < plans.size(); ++i) {
        const h2o_plan & p = plans[i];

        CHECK(p.ic_begin == ic && p.is_first() == (i == 0) && p.is_last() == (i + 1 == plans.size()));
        CHECK(p.n_graph_full() == expected[i][0] && p.has_graph_tail() == (expected[i][1] > 0));
        CHECK(p.n_graph_tokens() == 32*expected[i][0] + expected[i][1]);
        ic = p.ic_end;
    }
    CHECK(ic == 4);
}

static void test_cuts() {
    test_cut(1,   { { 1, 0 }, { 1, 0 }, { 1, 0 }, { 0, 5 } });
    test_cut(2,   { { 2, 0 }, { 1, 5 } });
    test_cut(3,   { { 3, 0 }, { 0, 5 } });
    test_cut(4,   { { 3, 5 } });
    test_cut(100, { { 3, 5 } });
}

// every graph goes on from the one before, and none writes the buffer of the state
static void check_chain(const h2o_state & state, const h2o_plan * plans, size_t n_plans) {
    for (size_t i = 0; i < n_plans; ++i) {
        const h2o_plan & p = plans[i];

        CHECK(p.src == (i == 0 ? state.copy : plans[i - 1].dst));
        CHECK(p.dst != p.src && p.dst != state.copy && p.dst >= 0 && p.dst < 3);

        if (i == 0) {
            CHECK(p.inherited == state.carry);
        } else {
            CHECK(p.inherited.tracked.chunk_pos == p.chunk_pos(p.ic_begin - 1) && p.inherited.tracked.n_chunk == 32);
            CHECK(p.inherited.tracked.mem_end == INT_MAX && p.inherited.tracked.n_mem == p.n_mem(p.ic_begin - 1));
        }
    }
}

static void test_single_pass() {
    for (const int32_t n_graph_chunks : { 1, 2, 3, 4 }) {
        h2o_state state(policy);

        for (int i = 0; i < 4; ++i) {
            const std::vector<h2o_plan> plans = plan(state, 101*i, 101, H2O_SCHEDULE_SINGLE_PASS, n_graph_chunks);

            CHECK((int) plans.size() == (4 + n_graph_chunks - 1)/n_graph_chunks && plans[0].phase == H2O_PHASE_BOTH);
            check_chain(state, plans.data(), plans.size());

            state.advance(plans.back());
            CHECK(state.carry.tracked.chunk_pos == 101*i + 96 && state.carry.tracked.n_chunk == 5 && state.n_chunks == 4*(i + 1));
        }
    }
}

// phase 1 over all tokens, then a graph per chunk
static void test_two_pass() {
    for (const int32_t n_graph_chunks : { 1, 4 }) {
        h2o_state state(policy);

        for (int i = 0; i < 4; ++i) {
            const std::vector<h2o_plan> plans = plan(state, 101*i, 101, H2O_SCHEDULE_TWO_PASS, n_graph_chunks);

            const int n_intra = 4/n_graph_chunks;

            CHECK((int) plans.size() == n_intra + 4);

            for (int j = 0; j < n_intra; ++j) {
                CHECK(plans[j].phase == H2O_PHASE_INTRA && plans[j].stores_kv() && plans[j].ic_begin == j*n_graph_chunks);
            }
            for (int ic = 0; ic < 4; ++ic) {
                const h2o_plan & p = plans[n_intra + ic];

                CHECK(p.phase == H2O_PHASE_INTER && !p.stores_kv() && p.ic_begin == ic && p.ic_end == ic + 1);
            }
            check_chain(state, plans.data() + n_intra, 4);

            state.advance(plans.back());
            CHECK(state.carry.tracked.chunk_pos == 101*i + 96 && state.carry.tracked.n_chunk == 5 && state.n_chunks == 4*(i + 1));
        }
    }
}

static void test_life() {
    h2o_state state(policy);
    CHECK(state.empty());

    state.advance(plan(state, 0, 70, H2O_SCHEDULE_SINGLE_PASS)[0]);
    CHECK(state.copy == 1 && state.carry.tracked.n_mem == 24 && state.carry.tracked.mem_end == INT_MAX);
    CHECK(state.carry.tracked.chunk_pos == 64 && state.carry.tracked.n_chunk == 6);

    state.advance(plan(state, 70, 64, H2O_SCHEDULE_SINGLE_PASS)[0]);
    CHECK(state.copy == 0 && state.carry.tracked.chunk_pos == 102 && state.carry.tracked.n_chunk == 32);

    // past the last chunk: nothing
    h2o_state cut = state;
    cut.truncate(134);
    CHECK(cut.carry.tracked.n_mem == 24 && cut.carry.tracked.n_chunk == 32 && cut.carry.tracked.mem_end == INT_MAX);

    // inside the last chunk, then before it, then up again: what is gone stays gone
    cut.truncate(110);
    CHECK(cut.carry.tracked.n_chunk == 8 && cut.carry.tracked.n_mem == 24 && cut.carry.tracked.mem_end == 110);
    cut.truncate(50);
    CHECK(cut.carry.tracked.n_chunk == 0 && cut.carry.tracked.mem_end == 50);
    cut.truncate(100);
    CHECK(cut.carry.tracked.n_chunk == 0 && cut.carry.tracked.mem_end == 50);

    cut.truncate(0);
    CHECK(cut.empty() && cut.copy == 0);
}

static void test_budget() {
    const auto clamp = [](h2o_policy_type policy, uint32_t l, uint32_t h, uint32_t s, uint32_t l_used, uint32_t h_used) {
        h2o_params asked = h2o_default_params();
        asked.policy  = policy;
        asked.n_local = l;
        asked.n_heavy = h;

        const h2o_params used = h2o_resolve_params(asked, s, 4);
        CHECK(used.n_local == l_used && used.n_heavy == h_used && used.heavy_grows == (policy == H2O_POLICY_QUERY && h == H2O_AUTO));
        return h2o_lowers_params(asked, s);
    };
    const auto default_of = [](h2o_policy_type policy, uint32_t s, uint32_t n_group, uint32_t l_used, uint32_t h_used, uint32_t n_tail) {
        h2o_params asked = h2o_default_params();
        asked.policy = policy;

        const h2o_params used = h2o_resolve_params(asked, s, n_group);
        CHECK(used.n_local == l_used && used.n_heavy == h_used && used.n_dense_tail == n_tail);
        CHECK(!h2o_lowers_params(asked, s));
    };
    const auto votes = H2O_POLICY_VOTES;
    const auto query = H2O_POLICY_QUERY;

    CHECK(!clamp(votes, 256, 256, 1024, 256, 256));
    CHECK(!clamp(votes, 256, 256,  512, 256, 255));
    CHECK(!clamp(votes, 511,   0,  512, 511,   0));
    CHECK( clamp(votes, 512,   0,  512, 511,   0));
    CHECK( clamp(votes, 600, 300,  512, 511,   0));
    CHECK( clamp(votes,   0, 900,  512,   0, 511));
    CHECK(!clamp(votes,   0,   0,  512,   0,   0));
    CHECK( clamp(votes,   5,   5,    1,   0,   0));
    CHECK( clamp(votes, UINT32_MAX - 1, UINT32_MAX - 1, 512, 511, 0));
    CHECK( clamp(votes, 1, UINT32_MAX - 1, 512, 1, 510));
    CHECK(!clamp(votes, 500, H2O_AUTO, 512, 500, 11));
    CHECK( clamp(votes, H2O_AUTO, 400, 512, 256, 255));

    // sets may be larger than chunks
    CHECK(!clamp(query, 500, 900,      512, 500, 900));
    CHECK( clamp(query, 600, 900,      512, 511, 900));
    CHECK(!clamp(query, 500, H2O_AUTO, 512, 500, 640));
    CHECK( clamp(query, 1, UINT32_MAX - 1, 512, 1, 1 << 30));

    default_of(query,              0, 2, 128, 640, 64);
    default_of(query,            512, 1, 128, 640, 64);
    default_of(query,            512, 3, 128, 640, 64);
    default_of(query,             64, 2,  16, 640, 64);
    default_of(H2O_POLICY_AUTO,  512, 2, 128, 640, 64);
    default_of(votes,           1024, 8, 256, 256,  0);
    default_of(votes,            512, 8, 256, 255,  0);
    default_of(votes,             64, 8,  32,  31,  0);

    CHECK(h2o_heavy_among(640, true,  640)     == 640);
    CHECK(h2o_heavy_among(640, true,  704)     == 703);
    CHECK(h2o_heavy_among(640, true,  16384)   == 4096 + 1024);
    CHECK(h2o_heavy_among(640, true,  1 << 30) == 4096 + (1 << 26));
    CHECK(h2o_heavy_among(640, false, 4*4096)  == 640);
    CHECK(h2o_heavy_among(5000, true, 4096)    == 5000);
    CHECK(h2o_heavy_among(8192, true, 9000)    == 8192);
}

static const suite cases("state", [](suite & s) {
    s.add("chunks",      test_chunks,      TEST_WAYS);
    s.add("cuts",        test_cuts,        TEST_WAYS);
    s.add("single-pass", test_single_pass, TEST_WAYS);
    s.add("two-pass",    test_two_pass,    TEST_WAYS);
    s.add("life",        test_life,        TEST_WAYS);
    s.add("budget",      test_budget);
});
