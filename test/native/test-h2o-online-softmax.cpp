// The building blocks of h2o-block-composed.h in float64: the state (o, lse) and the votes of one block of keys, and the fusion
// of two blocks, which must be one softmax over the joined keys: for logits to +-100, and with one side empty.

#include "testing.h"

#include "h2o-block-composed.h"

#include "tests/h2o-oracle.h"

#include <algorithm>
#include <cmath>

static const int D = 24; // size of a value

struct block {
    int n_keys;
    std::vector<float> logits; // [rows][n_keys], -inf is hidden
    std::vector<float> v_t;    // [D][n_keys]
};

static block random_block(test_random & rnd, int n_rows, int n_keys, float range, bool causal, int n_group) {
    block b;
    b.n_keys = n_keys;
    for (int r = 0; r < n_rows; ++r) {
        for (int k = 0; k < n_keys; ++k) {
            b.logits.push_back(causal && k > r/n_group ? -INFINITY : rnd.uniform(-range, range));
        }
    }
    for (int i = 0; i < D*n_keys; ++i) {
        b.v_t.push_back(rnd.uniform(-1.0f, 1.0f));
    }
    return b;
}

// softmax over the keys of all blocks together, row r: the output, and the weights in order of the keys
static void attend(const std::vector<const block *> & blocks, int r, std::vector<double> & o, std::vector<double> & w, double & lse) {
    w.clear();
    for (const block * b : blocks) {
        w.insert(w.end(), b->logits.begin() + r*b->n_keys, b->logits.begin() + (r + 1)*b->n_keys);
    }
    lse = h2o_oracle_softmax(w);

    o.assign(D, 0.0);
    size_t at = 0;
    for (const block * b : blocks) {
        for (int k = 0; k < b->n_keys; ++k, ++at) {
            for (int i = 0; i < D; ++i) {
                o[i] += w[at]*b->v_t[i*b->n_keys + k];
            }
        }
    }
}

struct inputs {
    ggml_tensor * q;
    ggml_tensor * k;
    ggml_tensor * v_t;
    ggml_tensor * mask;
    ggml_tensor * ones;
};

// one head whose products q*k are the given logits: k is the identity
static inputs new_inputs(ggml_context * ctx, int n_rows, int n_keys) {
    return {
        ggml_new_tensor_4d(ctx, GGML_TYPE_F32, n_keys, n_rows, 1, 1),
        ggml_new_tensor_4d(ctx, GGML_TYPE_F32, n_keys, n_keys, 1, 1),
        ggml_new_tensor_4d(ctx, GGML_TYPE_F32, n_keys, D,      1, 1),
        ggml_new_tensor_2d(ctx, GGML_TYPE_F16, n_keys, n_rows),
        ggml_new_tensor_1d(ctx, GGML_TYPE_F32, n_rows),
    };
}

static void set_inputs(const inputs & in, const block & b, int n_rows, float scale) {
    std::vector<float>       q(b.logits.size());
    std::vector<ggml_fp16_t> mask(b.logits.size());
    std::vector<float>       k(b.n_keys*b.n_keys, 0.0f);

    for (size_t i = 0; i < q.size(); ++i) {
        const bool hidden = std::isinf(b.logits[i]);
        q[i]    = hidden ? 77.0f : b.logits[i]/scale;
        mask[i] = ggml_fp32_to_fp16(hidden ? -INFINITY : 0.0f);
    }
    for (int i = 0; i < b.n_keys; ++i) {
        k[i*b.n_keys + i] = 1.0f;
    }
    test_set(in.q, q);
    test_set(in.k, k);
    test_set(in.v_t, b.v_t);
    test_set(in.mask, mask);
    test_set(in.ones, std::vector<float>(n_rows, 1.0f));
}

static double relative(double a, double b) {
    return std::fabs(a - b)/std::max(1.0, std::fabs(b));
}

static void test_blocks(test_random & rnd, float range) {
    const int   n_group = rnd.integer(1, 4);
    const int   n_query = rnd.integer(1, 40);
    const int   n_rows  = n_group*n_query;
    const float scale   = 0.25f;

    const block intra = random_block(rnd, n_rows, n_query,             range, true,  n_group);
    const block inter = random_block(rnd, n_rows, rnd.integer(1, 50),  range, false, n_group);

    test_graph g;
    const inputs in_a = new_inputs(g.ctx.get(), n_rows, intra.n_keys);
    const inputs in_b = new_inputs(g.ctx.get(), n_rows, inter.n_keys);

    const h2o_attn_block a = h2o_build_attn_block(g.ctx.get(), in_a.q, in_a.k, in_a.v_t, in_a.mask, in_a.ones, { scale });
    const h2o_attn_block b = h2o_build_attn_block(g.ctx.get(), in_b.q, in_b.k, in_b.v_t, nullptr,   in_b.ones, { scale });

    ggml_tensor * ab = h2o_build_fuse(g.ctx.get(), a.o, a.lse, b.o, b.lse);
    ggml_tensor * ba = h2o_build_fuse(g.ctx.get(), b.o, b.lse, a.o, a.lse);

    g.alloc();
    set_inputs(in_a, intra, n_rows, scale);
    set_inputs(in_b, inter, n_rows, scale);
    g.compute({ ab, ba, a.votes, b.votes });

    CHECK(ggml_are_same_shape(ab, a.o) && ggml_are_same_shape(ba, a.o));
    CHECK(a.o->ne[0] == D && a.o->ne[1] == n_rows && a.lse->ne[0] == 1 && a.lse->ne[1] == n_rows);
    CHECK(a.votes->ne[0] == intra.n_keys && b.votes->ne[0] == inter.n_keys);

    const auto got_ab = test_get<float>(ab);
    const auto got_ba = test_get<float>(ba);

    for (const auto & [blk, state] : { std::pair(&intra, &a), std::pair(&inter, &b) }) {
        const auto got_o     = test_get<float>(state->o);
        const auto got_lse   = test_get<float>(state->lse);
        const auto got_votes = test_get<float>(state->votes);

        std::vector<double> o, w, votes(blk->n_keys, 0.0);
        double lse;
        for (int r = 0; r < n_rows; ++r) {
            attend({ blk }, r, o, w, lse);
            CHECK(relative(got_lse[r], lse) < 1e-5);
            for (int i = 0; i < D; ++i)           { CHECK(relative(got_o[r*D + i], o[i]) < 1e-5); }
            for (int k = 0; k < blk->n_keys; ++k) { votes[k] += w[k]; }
        }
        for (int k = 0; k < blk->n_keys; ++k) {
            CHECK(relative(got_votes[k], votes[k]) < 1e-5);
        }
    }

    std::vector<double> o, w;
    double lse;
    for (int r = 0; r < n_rows; ++r) {
        attend({ &intra, &inter }, r, o, w, lse);
        for (int i = 0; i < D; ++i) {
            // F32 logits of 100 carry 4e-6 into the exponent
            const double limit = range > 10.0f ? 5e-5 : 1e-5;

            CHECK(relative(got_ab[r*D + i], o[i]) < limit);
            CHECK(relative(got_ba[r*D + i], o[i]) < limit);
        }
    }
}

static void test_empty_side() {
    test_graph g;
    ggml_tensor * o_a   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 2, 3);
    ggml_tensor * o_b   = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 2, 3);
    ggml_tensor * lse_a = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 1, 3);
    ggml_tensor * lse_b = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, 1, 3);
    ggml_tensor * res   = h2o_build_fuse(g.ctx.get(), o_a, lse_a, o_b, lse_b);

    g.alloc();
    test_set<float>(o_a,   { 1, 2, 0, 0, 5, 6 });
    test_set<float>(o_b,   { 0, 0, 3, 4, 7, 8 });
    test_set<float>(lse_a, { -100, -INFINITY, 100 });
    test_set<float>(lse_b, { -INFINITY, 100, 100 });
    g.compute({ res });

    CHECK(test_get<float>(res) == std::vector<float>({ 1, 2, 3, 4, 6, 7 }));
}

// all logits of a side the same, from one end of the range to the other: the result is known in closed form
static void test_extremes() {
    const int n_a = 1000;
    const int n_b = 3;

    for (const float logit_a : { -100.0f, 0.0f, 100.0f }) {
        for (const float logit_b : { -100.0f, 0.0f, 100.0f }) {
            block a = { n_a, std::vector<float>(n_a, logit_a), std::vector<float>(D*n_a, 1.0f) };
            block b = { n_b, std::vector<float>(n_b, logit_b), std::vector<float>(D*n_b, 2.0f) };

            test_graph g;
            const inputs in_a = new_inputs(g.ctx.get(), 1, n_a);
            const inputs in_b = new_inputs(g.ctx.get(), 1, n_b);

            const h2o_attn_block got_a = h2o_build_attn_block(g.ctx.get(), in_a.q, in_a.k, in_a.v_t, nullptr, in_a.ones, { 1.0f });
            const h2o_attn_block got_b = h2o_build_attn_block(g.ctx.get(), in_b.q, in_b.k, in_b.v_t, nullptr, in_b.ones, { 1.0f });
            ggml_tensor * fused = h2o_build_fuse(g.ctx.get(), got_a.o, got_a.lse, got_b.o, got_b.lse);

            g.alloc();
            set_inputs(in_a, a, 1, 1.0f);
            set_inputs(in_b, b, 1, 1.0f);
            g.compute({ fused });

            const double share_b = 1.0/(1.0 + n_a*std::exp((double) logit_a - logit_b)/n_b);

            for (const float x : test_get<float>(fused)) {
                CHECK(relative(x, 1.0 + share_b) < 1e-5);
            }
        }
    }
}

int main() {
    test_random rnd;

    for (const float range : { 1.0f, 10.0f, 100.0f }) {
        for (int i = 0; i < 100; ++i) {
            test_blocks(rnd, range);
        }
    }
    test_empty_side();
    test_extremes();

    printf("H2O online softmax checks passed\n");
    return 0;
}
