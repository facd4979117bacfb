// GGML_OP_H2O, PAGES, LANDMARKS and QUERY, on random sizes, types and strides, with an index that grows in steps, ties
// and NaN: a set whatever comes in, and the same one for 1 to 8 threads. What is chosen is compared in
// test-backend-ops; this runs under sanitizers, too.

#include "testing.h"

#include "ops/ggml-h2o.h"

#include <algorithm>
#include <cmath>

typedef std::vector<int32_t> positions;

struct problem {
    int d;
    int n_head; // KV heads
    int n_group;
    int n_cells;
    int n_queries;
    int pos;
    int n_local;
    int n_heavy;
    int n_indexed; // positions that the index knew before

    bool      is_broken; // keys with NaN
    ggml_type type_k;

    std::vector<float> q;   // [n_queries][n_head*n_group][d]
    std::vector<float> lse; // [n_queries][n_head*n_group]
    std::vector<float> k;   // [n_cells][n_head][d], as a cache has it

    float scale() const { return 0.25f; }
    int   n_near() const { return std::min(n_local, pos); }
    int   n_cand() const { return pos - n_near(); }
    int   n_set()  const { return std::min(n_cand(), n_heavy); }

};

static problem random_problem(test_random & rnd) {
    problem p;
    p.d         = rnd.pick<int>({ 16, 24, 32, 80 });
    p.n_head    = rnd.integer(1, 3);
    p.n_group   = rnd.pick<int>({ 1, 2, 4 });
    p.pos       = rnd.pick<int>({ rnd.integer(1, 300), 64*rnd.integer(1, 20), 256*rnd.integer(1, 5), rnd.integer(1000, 2200) });
    p.n_local   = rnd.integer(0, 2) ? rnd.integer(0, std::min(p.pos - 1, 300)) : 0;
    p.n_heavy   = rnd.pick<int>({ rnd.integer(1, 8), rnd.integer(8, 100), rnd.integer(200, 800) });
    p.n_queries = rnd.integer(1, 150);
    p.n_cells   = p.pos + p.n_queries;
    p.n_indexed = rnd.integer(0, p.pos);
    p.is_broken = rnd.integer(0, 9) == 0;
    p.type_k    = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 });

    const int max = rnd.integer(0, 3); // 0: all is equal, and ties decide

    for (int i = 0; i < p.n_queries*p.n_head*p.n_group; ++i) {
        const bool is_nan = rnd.integer(0, 199) == 0;
        for (int j = 0; j < p.d; ++j) {
            p.q.push_back(is_nan ? NAN : rnd.integer(-max, max));
        }
        p.lse.push_back(rnd.integer(0, 199) == 0 ? NAN : rnd.integer(0, 80)*0.125f);
    }
    for (int i = 0; i < p.n_cells*p.n_head*p.d; ++i) {
        p.k.push_back(p.is_broken && rnd.integer(0, 99) == 0 ? NAN : rnd.integer(-max, max));
    }
    return p;
}

static void check_set(const problem & p, const int32_t * set) {
    for (int i = 0; i < p.n_set(); ++i) {
        CHECK(set[i] >= 0 && set[i] < p.n_cand() && (i == 0 || set[i] > set[i - 1]));
    }
}

static positions run(const problem & p, int n_threads) {
    const int n_pages = p.pos/GGML_H2O_PAGE;
    const int n_spans = p.pos/GGML_H2O_SPAN;
    const int n_heads = p.n_head*p.n_group;

    test_graph g;
    ggml_context * ctx = g.ctx.get();

    ggml_tensor * q         = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p.d, n_heads, p.n_queries);
    ggml_tensor * lse       = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_heads, p.n_queries);
    ggml_tensor * cells     = ggml_new_tensor_3d(ctx, p.type_k, p.d, p.n_head, p.n_cells);
    ggml_tensor * all_pages = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p.d, std::max(1, n_pages) + 1, p.n_head);
    ggml_tensor * all_marks = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, (n_spans + 1)*GGML_H2O_LANDMARKS, p.n_head);

    ggml_tensor * k         = ggml_permute(ctx, cells, 0, 2, 1, 3);
    ggml_tensor * pages     = all_pages;
    ggml_tensor * landmarks = all_marks;

    // as two calls would
    const int steps[] = { 0, p.n_indexed, p.pos };
    for (int i = 0; i < 2; ++i) {
        const int begin = steps[i];
        const int end   = steps[i + 1];
        if (begin/GGML_H2O_PAGE < end/GGML_H2O_PAGE) {
            pages = ggml_h2o_pages(ctx, k, pages, begin/GGML_H2O_PAGE, end/GGML_H2O_PAGE);
        }
        if (begin/GGML_H2O_SPAN < end/GGML_H2O_SPAN) {
            landmarks = ggml_h2o_landmarks(ctx, k, pages, landmarks, begin/GGML_H2O_SPAN, end/GGML_H2O_SPAN);
        }
    }
    ggml_tensor * set = ggml_h2o_query(ctx, q, lse, k, pages, landmarks, p.pos, p.n_local, p.n_heavy, p.scale());

    CHECK(set->ne[0] == p.n_set() && set->ne[1] == n_heads && set->ne[2] == (p.n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK);

    g.alloc();
    test_set(q,   p.q);
    test_set(lse, p.lse);
    // where the index has nothing yet: what must not be read
    test_set(all_pages, std::vector<float>(ggml_nelements(all_pages), 1e6f));
    test_set(all_marks, positions(ggml_nelements(all_marks), p.n_cand() - 1));

    std::vector<uint8_t> data(ggml_nbytes(cells));
    ggml_get_type_traits_cpu(p.type_k)->from_float(p.k.data(), data.data(), p.k.size());
    test_set(cells, data);

    g.compute({ set }, n_threads);

    return test_get<int32_t>(set);
}

static void test_problem(const problem & p, int n_threads) {
    const positions sets = run(p, 1);

    for (size_t i = 0; i < sets.size(); i += p.n_set()) {
        check_set(p, sets.data() + i);
    }
    CHECK(run(p, n_threads) == sets);
}

// argument: how many random cases
int main(int argc, char ** argv) {
    test_random rnd;

    const int n_cases = argc > 1 ? atoi(argv[1]) : 150;
    for (int i = 0; i < n_cases; ++i) {
        test_problem(random_problem(rnd), 2 + i % 7);
    }
    printf("H2O query ops: checks passed\n");
    return 0;
}
