// Products of linear layers with experts (ops/cpu/linear) against float64: every type of weights, in every buffer that
// ggml has for them, random shapes, experts that all rows want or none. They are to be no further off than ggml's own, and the
// same bits with any number of threads. With too few rows for an expert, or without the mark, they are ggml's.

#include "linear-testing.h"
#include "suite.h"

#include <algorithm>
#include <numeric>

namespace {

struct problem {
    ggml_type type;

    int  n_in;
    int  n_out;
    int  n_experts;
    int  n_used;
    int  n_tokens;
    bool shares; // the experts of a token have the same activations

    std::vector<uint8_t> w;
    std::vector<float>   w_f32; // what w holds
    std::vector<float>   x;
    std::vector<int32_t> ids;   // [n_tokens][n_experts]: the first n_used are meant

    int n_rows()    const { return n_used*n_tokens; }
    int row_of_x(int i) const { return shares ? i/n_used : i; }
    int expert(int i)   const { return ids[i/n_used*n_experts + i%n_used]; }
};

} // namespace

// as a router chooses: different experts for a token, in any order, some of them often and some never
static std::vector<int32_t> uneven_ids(test_random & rnd, int n_experts, int n_used, int n_tokens) {
    const int n_wanted = rnd.integer(n_used, n_experts);

    std::vector<int32_t> all(n_experts);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), rnd.engine);

    std::vector<int32_t> res;
    for (int t = 0; t < n_tokens; ++t) {
        // the further to the end of `all`, the less often
        std::vector<int32_t> ids = all;
        for (int i = 0; i < n_used; ++i) {
            std::swap(ids[i], ids[std::min(rnd.integer(i, n_wanted - 1), rnd.integer(i, n_wanted - 1))]);
        }
        res.insert(res.end(), ids.begin(), ids.end());
    }
    return res;
}

static problem random_problem(
        test_random & rnd, ggml_type type, int n_in, int n_out, int n_experts, int n_used, int n_tokens, bool shares) {
    problem p = { type, n_in, n_out, n_experts, n_used, n_tokens, shares, {}, {}, {}, {} };

    p.x    .resize((size_t) n_in*n_tokens*(shares ? 1 : n_used));
    p.w_f32.resize((size_t) n_in*n_out*n_experts);
    for (float & v : p.x)     { v = rnd.uniform(-1.0f, 1.0f); }
    for (float & v : p.w_f32) { v = rnd.uniform(-1.0f, 1.0f); }

    p.w   = linear_quantize(type, n_in, p.w_f32);
    p.ids = uneven_ids(rnd, n_experts, n_used, n_tokens);
    return p;
}

static std::vector<double> in_float64(const problem & p) {
    std::vector<double> res;
    for (int i = 0; i < p.n_rows(); ++i) {
        const float * w = p.w_f32.data() + (size_t) p.expert(i)*p.n_out*p.n_in;
        const float * x = p.x    .data() + (size_t) p.row_of_x(i)*p.n_in;
        for (int j = 0; j < p.n_out; ++j) {
            double sum = 0.0;
            for (int k = 0; k < p.n_in; ++k) {
                sum += (double) w[j*p.n_in + k]*x[k];
            }
            res.push_back(sum);
        }
    }
    return res;
}

// empty where weights in this buffer do not serve the product
static std::vector<float> product(const problem & p, ggml_backend_buffer_type_t buft, bool marked, int n_threads) {
    ggml_context_ptr weights { ggml_init({ 2*ggml_tensor_overhead(), nullptr, true }) };

    ggml_tensor * w = ggml_new_tensor_3d(weights.get(), p.type, p.n_in, p.n_out, p.n_experts);

    ggml_backend_buffer_ptr buf { ggml_backend_alloc_ctx_tensors_from_buft(weights.get(), buft) };

    test_graph g;
    ggml_tensor * x    = ggml_new_tensor_3d(g.ctx.get(), GGML_TYPE_F32, p.n_in, p.shares ? 1 : p.n_used, p.n_tokens);
    ggml_tensor * all  = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_I32, p.n_experts, p.n_tokens);
    ggml_tensor * used = ggml_view_2d(g.ctx.get(), all, p.n_used, p.n_tokens, all->nb[1], 0);
    ggml_tensor * y    = ggml_mul_mat_id(g.ctx.get(), w, x, used);
    if (!ggml_backend_supports_op(g.backend.get(), y)) {
        return {};
    }
    if (marked) {
        ggml_h2o_mark_linear(y);
    }
    g.alloc();
    ggml_backend_tensor_set(w, p.w.data(), 0, p.w.size());
    test_set(x, p.x);
    test_set(all, p.ids);
    g.compute({ y }, n_threads);
    return test_get<float>(y);
}

// ours is said to take the product, or not
static void check(const problem & p, bool is_ours) {
    const std::vector<double> want = in_float64(p);

    for (ggml_backend_buffer_type_t buft : linear_buffer_types()) {
        const std::vector<float> theirs = product(p, buft, false, 1);
        if (theirs.empty()) {
            continue;
        }
        const auto ours = [&](int n_threads) { return product(p, buft, true, n_threads); };

        if (!is_ours || p.type == GGML_TYPE_F32) {
            CHECK(same(ours(1), theirs));
        } else {
            check_ours(p.type, buft, { p.n_in, p.n_out, p.n_used, p.n_experts, p.n_tokens }, theirs, want, 1e-10, ours);
        }
    }
}

// argument: how many random products of each type
static void test_types() {
    const int n_random = test_argument(0, 4);

    test_random rnd;

    for (const ggml_type type : LINEAR_TYPES) {
        const int n_block = ggml_blck_size(type);
        const int n_in    = n_block > 1 ? n_block : 8; // F16 and BF16: rows that no tile divides

        for (int i = 0; i < n_random; ++i) {
            const int n_experts = rnd.integer(2, 6);
            const int n_used    = rnd.integer(1, n_experts);
            const int n_out     = i % 2 ? rnd.integer(1, 5)*32 : rnd.integer(1, 140); // ggml packs multiples of 8

            check(random_problem(rnd, type, rnd.integer(1, 600/n_in)*n_in, n_out, n_experts, n_used, rnd.integer(16, 80)*n_experts/n_used + 1, i % 3), true);
        }
        // several tiles of the inner dimension, more rows than are prepared at once, for one expert and for several
        check(random_problem(rnd, type, 2304, 40, 3, 2, 100, true), true);
        check(random_problem(rnd, type, 256,  72, 2, 1, 1400, true), true);
        check(random_problem(rnd, type, 256,  72, 16, 4, 700, false), true);

        // few rows for each
        check(random_problem(rnd, type, 256, 64, 16, 2, 1, true), false);
        check(random_problem(rnd, type, 256, 64, 16, 2, 7, true), false);
        check(random_problem(rnd, type, 256, 200, 16, 2, 20, true), true);
    }
}

static const suite cases("experts-op", [](suite & s) {
    s.add("types and shapes", test_types);
});
