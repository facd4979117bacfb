// GGML_OP_H2O, SELECT and LOOKUP: the cases of test-backend-ops on random sizes, with removed members, ties, NaN and
// infinities, nothing tracked at all, for 1 to 8 threads. Then small cases by hand.

#include "backend-case.h"
#include "suite.h"

#include "tests/test-backend-ops-h2o.h"

#include <climits>

// argument: how many
static void test_random_cases() {
    test_random rnd;

    const int n_cases = test_argument(0, 3000);
    for (int i = 0; i < n_cases; ++i) {
        const int n_local = rnd.integer(0, 12);
        const int n_heavy = rnd.integer(n_local == 0 ? 1 : 0, 12);

        const int n_chunk   = rnd.integer(0, 1) ? rnd.integer(0, 40) : 0;
        const int chunk_pos = rnd.integer(0, 60);
        const int n_mem     = std::min(rnd.integer(0, 24), chunk_pos);
        const int pos       = std::max(1, chunk_pos + n_chunk + (rnd.integer(0, 2) == 0 ? rnd.integer(0, 30) : 0));

        const ggml_h2o_tracked tracked = { n_mem, rnd.integer(0, 2) == 0 ? rnd.integer(1, pos) : INT_MAX, chunk_pos, n_chunk };
        const int              n_head  = rnd.integer(1, 5);
        const test_h2o_kind    scores  = rnd.pick<test_h2o_kind>({ TEST_H2O_DISTINCT, TEST_H2O_TIES, TEST_H2O_SPECIAL });

        test_h2o_select select(tracked, pos, n_local, n_heavy, n_head, scores);
        test_h2o_lookup lookup(tracked, rnd.integer(1, chunk_pos + n_chunk + 9), n_head, scores);

        const int n_threads = i % 4 ? 1 : 2 + i/4 % 7;
        test_run(select, n_threads);
        test_run(lookup, n_threads);
    }
}

//
// by hand, one head
//

namespace {

struct scored {
    std::vector<int32_t> pos;
    std::vector<float>   score;
};

} // namespace

// chunk: the scores of positions [chunk_pos, pos), the next chunk begins at pos
static scored select(const scored & mem, int chunk_pos, const std::vector<float> & chunk, int n_local, int n_heavy) {
    const int n_mem = mem.pos.size();
    const int pos   = chunk_pos + chunk.size();

    const ggml_h2o_tracked tracked = { n_mem, INT_MAX, chunk_pos, (int) chunk.size() };

    test_graph g;
    ggml_tensor * mem_pos     = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_I32, std::max(1, n_mem), 1);
    ggml_tensor * mem_score   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, std::max(1, n_mem), 1);
    ggml_tensor * chunk_score = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, chunk.size(),       1);

    ggml_tensor * set    = ggml_h2o_select(g.ctx.get(), mem_pos, mem_score, chunk_score, tracked, pos, n_local, n_heavy);
    ggml_tensor * scores = ggml_h2o_lookup(g.ctx.get(), set, mem_pos, mem_score, chunk_score, tracked);

    g.alloc();
    if (n_mem > 0) {
        test_set(mem_pos,   mem.pos);
        test_set(mem_score, mem.score);
    }
    test_set(chunk_score, chunk);
    g.compute({ set, scores });

    return { test_get<int32_t>(set), test_get<float>(scores) };
}

typedef std::vector<int32_t> positions;

static void test_by_hand() {
    // chunk 0: Heavy comes from [0, S - L)
    const scored m0 = select({}, 0, { 1, 9, 2, 50, 3, 0, 99, 98 }, 2, 2);
    CHECK(m0.pos   == positions({ 1, 3, 6, 7 }));
    CHECK(m0.score == std::vector<float>({ 9, 50, 99, 98 }));

    // position 3 of chunk 0 goes on to M_2, as the heaviest there is; 1 gives way, and 6 and 7, Local once, must
    // compete
    const scored m1 = select({ m0.pos, { 9, 51, 10, 5 } }, 8, { 7, 7, 40, 7, 7, 7, 1, 1 }, 2, 2);
    CHECK(m1.pos == positions({ 3, 10, 14, 15 }));

    const scored m2 = select({ m1.pos, { 52, 41, 1, 1 } }, 16, { 6, 6, 6, 6, 6, 6, 44, 45 }, 2, 2);
    CHECK(m2.pos == positions({ 3, 10, 22, 23 }));

    // ties go to the lower position, wherever they come from
    CHECK(select({}, 0, { 4, 4, 4, 4, 4, 4, 4, 4 }, 2, 3).pos                         == positions({ 0, 1, 2, 6, 7 }));
    CHECK(select({ { 1, 3, 6, 7 }, { 4, 4, 4, 4 } }, 8, { 4, 4, 4, 4 }, 1, 3).pos     == positions({ 1, 3, 6, 11 }));
    CHECK(select({ { 1, 3, 6, 7 }, { 4, 5, 4, 4 } }, 8, { 4, 4, 4, 5 }, 0, 3).pos     == positions({ 1, 3, 11 }));

    // a last chunk shorter than L: Local reaches back into the memory and past it, each position once
    CHECK(select({ { 1, 3, 6, 7 }, { 9, 8, 90, 91 } }, 8, { 1, 1 }, 5, 2).pos         == positions({ 1, 3, 5, 6, 7, 8, 9 }));
    CHECK(select({ { 1, 3, 6, 7 }, { 9, 8, 90, 91 } }, 8, { 1, 1 }, 3, 2).pos         == positions({ 1, 6, 7, 8, 9 }));

    // Local clamped at 0: fewer positions than L
    CHECK(select({}, 0, { 1, 2, 3 }, 5, 2).pos                                        == positions({ 0, 1, 2 }));

    // only one of the two parts
    CHECK(select({}, 0, { 1, 9, 2, 50 }, 3, 0).pos                                    == positions({ 1, 2, 3 }));
    CHECK(select({}, 0, { 1, 9, 2, 50 }, 0, 1).pos                                    == positions({ 3 }));
}

static const suite cases("select-op", [](suite & s) {
    s.add("random cases", test_random_cases, TEST_WAYS);
    s.add("by hand",      test_by_hand,      TEST_WAYS);
});
