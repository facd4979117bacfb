// Attention as a graph of stock ops (h2o-block-composed.h) against the oracle: output, state and votes of a block of keys,
// and the merge of two blocks, which must be one softmax over the joined keys: for logits to +-100, and with one side empty.

#include "testing.h"

#include "h2o-block-composed.h"

#include "tests/h2o-oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

// A product has n_head*n_chunks blocks, of n queries and n_group heads each. First the keys of the chunk, one for each
// query, which sees those up to its own; behind them keys that all see.
struct problem {
    int d;
    int d_v;
    int n;
    int n_group;
    int n_head;
    int n_chunks;
    int n_mem;

    float scale;

    std::vector<float> q;   // [block][n*n_group][d]
    std::vector<float> k;   // [block][n + n_mem][d]
    std::vector<float> v_t; // [block][d_v][n + n_mem]

    int n_rows()   const { return n*n_group; }
    int n_keys()   const { return n + n_mem; }
    int n_blocks() const { return n_head*n_chunks; }
};

// logits reach +-range
static problem random_problem(test_random & rnd, float range) {
    problem p = { 2*rnd.integer(1, 48), rnd.integer(1, 40), rnd.integer(1, 40), rnd.integer(1, 8), rnd.integer(1, 3), rnd.integer(1, 3),
        rnd.integer(1, 50), 0.0f, {}, {}, {} };

    const auto fill = [&](std::vector<float> & x, int n) {
        x.resize(n*p.n_blocks());
        std::generate(x.begin(), x.end(), [&] { return rnd.uniform(-1.0f, 1.0f); });
    };
    fill(p.q,   p.n_rows()*p.d);
    fill(p.k,   p.n_keys()*p.d);
    fill(p.v_t, p.n_keys()*p.d_v);

    double largest = 0.0;
    for (int ib = 0; ib < p.n_blocks(); ++ib) {
        for (int row = 0; row < p.n_rows(); ++row) {
            for (int j = 0; j < p.n_keys(); ++j) {
                largest = std::max(largest, std::fabs(h2o_oracle_dot(
                        &p.q[(ib*p.n_rows() + row)*p.d], &p.k[(ib*p.n_keys() + j)*p.d], p.d)));
            }
        }
    }
    p.scale = range/largest;
    return p;
}

// keys [begin, end) of block ib: o, lse and votes, one behind the other
static std::vector<double> expected(const problem & p, int ib, int begin, int end) {
    // rows are by query and head of the group, as those of a chunk with one KV head are
    return h2o_oracle_attn(
            { p.d, p.d_v, p.n_group, 1, p.n, 1 }, p.scale, &p.q[ib*p.n_rows()*p.d],
            [&](int, int i, int) {
                std::vector<int> seen(end - begin);
                std::iota(seen.begin(), seen.end(), begin);
                seen.erase(std::remove_if(seen.begin(), seen.end(), [&](int j) { return j > i && j < p.n; }), seen.end());
                return seen;
            },
            [&](int j, int) { return &p.k[(ib*p.n_keys() + j)*p.d]; },
            [&](int j, int, int i) { return p.v_t[(ib*p.d_v + i)*p.n_keys() + j]; }, nullptr, nullptr, end - begin);
}

static void check_near(const std::vector<float> & got, int ib, const double * want, int n, double limit) {
    for (int i = 0; i < n; ++i) {
        CHECK(std::fabs(got[ib*n + i] - want[i]) <= limit*std::max(1.0, std::fabs(want[i])));
    }
}

static void test_blocks(test_random & rnd, float range, double limit) {
    const problem p = random_problem(rnd, range);

    test_graph g;
    ggml_context * ctx = g.ctx.get();

    const auto new_tensor = [&](int ne0, int ne1) {
        return ggml_new_tensor_4d(ctx, GGML_TYPE_F32, ne0, ne1, p.n_head, p.n_chunks);
    };
    const auto part = [&](ggml_tensor * t, int dim, int begin, int n) {
        ggml_tensor * view = ggml_view_4d(ctx, t, dim == 0 ? n : t->ne[0], dim == 1 ? n : t->ne[1], t->ne[2], t->ne[3],
                t->nb[1], t->nb[2], t->nb[3], begin*t->nb[dim]);
        return ggml_cont(ctx, view);
    };
    ggml_tensor * q    = new_tensor(p.d, p.n_rows());
    ggml_tensor * k    = new_tensor(p.d, p.n_keys());
    ggml_tensor * v_t  = new_tensor(p.n_keys(), p.d_v);
    ggml_tensor * mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, p.n, p.n_rows());
    ggml_tensor * ones = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, p.n_rows()*p.n_blocks());

    const h2o_attn_block a = h2o_build_attn_block(ctx, q, part(k, 1, 0, p.n), part(v_t, 0, 0, p.n), mask, ones, { p.scale });
    const h2o_attn_block b = h2o_build_attn_block(
            ctx, q, part(k, 1, p.n, p.n_mem), part(v_t, 0, p.n, p.n_mem), nullptr, ones, { p.scale });

    ggml_tensor * ab = h2o_build_fuse(ctx, a.o, a.lse, b.o, b.lse);
    ggml_tensor * ba = h2o_build_fuse(ctx, b.o, b.lse, a.o, a.lse);

    g.alloc();
    test_set(q,   p.q);
    test_set(k,   p.k);
    test_set(v_t, p.v_t);
    std::vector<ggml_fp16_t> causal;
    for (int row = 0; row < p.n_rows(); ++row) {
        for (int j = 0; j < p.n; ++j) {
            causal.push_back(ggml_fp32_to_fp16(j <= row/p.n_group ? 0.0f : -INFINITY));
        }
    }
    test_set(mask, causal);
    test_set(ones, std::vector<float>(p.n_rows()*p.n_blocks(), 1.0f));
    g.compute({ ab, ba, a.votes, b.votes });

    for (const auto & [block, begin, end] : { std::tuple(&a, 0, p.n), std::tuple(&b, p.n, p.n_keys()) }) {
        CHECK(block->o->ne[0]     == p.d_v        && block->o->ne[1]   == p.n_rows() && block->o->ne[2]   == p.n_head);
        CHECK(block->lse->ne[0]   == 1            && block->lse->ne[1] == p.n_rows() && block->lse->ne[2] == p.n_head);
        CHECK(block->votes->ne[0] == end - begin  && block->votes->ne[2] == p.n_head);

        for (int ib = 0; ib < p.n_blocks(); ++ib) {
            const std::vector<double> want = expected(p, ib, begin, end);

            check_near(test_get<float>(block->o),     ib, want.data(),                         p.d_v*p.n_rows(), limit);
            check_near(test_get<float>(block->lse),   ib, want.data() + p.d_v*p.n_rows(),      p.n_rows(),       limit);
            check_near(test_get<float>(block->votes), ib, want.data() + (p.d_v + 1)*p.n_rows(), end - begin,     limit);
        }
    }
    for (const ggml_tensor * joined : { ab, ba }) {
        CHECK(ggml_are_same_shape(joined, a.o));
        for (int ib = 0; ib < p.n_blocks(); ++ib) {
            check_near(test_get<float>(joined), ib, expected(p, ib, 0, p.n_keys()).data(), p.d_v*p.n_rows(), limit);
        }
    }
}

// a side that nobody sees, or that is nothing beside the other
static void test_one_side() {
    const float inf = INFINITY;

    test_graph g;
    ggml_tensor * o_a   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 2, 5);
    ggml_tensor * o_b   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 2, 5);
    ggml_tensor * lse_a = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 1, 5);
    ggml_tensor * lse_b = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 1, 5);
    ggml_tensor * res   = h2o_build_fuse(g.ctx.get(), o_a, lse_a, o_b, lse_b);

    g.alloc();
    test_set<float>(o_a,   { 1, 2,   0, 0,   5, 6,   1, 2,   0, 0 });
    test_set<float>(o_b,   { 0, 0,   3, 4,   7, 8,   0, 0,   3, 4 });
    test_set<float>(lse_a, { -100,   -inf,   100,    100,    -100 });
    test_set<float>(lse_b, { -inf,   100,    100,    -100,   100 });
    g.compute({ res });

    CHECK(test_get<float>(res) == std::vector<float>({ 1, 2,   3, 4,   6, 7,   1, 2,   3, 4 }));
}

int main() {
    test_random rnd;

    for (int i = 0; i < 100; ++i) {
        test_blocks(rnd, 1.0f,   1e-5);
        test_blocks(rnd, 10.0f,  2e-5);
        test_blocks(rnd, 100.0f, 2e-4); // F32 logits of 100 carry 1e-5 into the exponent
    }
    test_one_side();

    printf("H2O online softmax checks passed\n");
    return 0;
}
