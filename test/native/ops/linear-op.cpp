// Products of linear layers (ops/cpu/linear) against float64: every type of weights, in every buffer that ggml has for
// them, random shapes, 1 to 4 threads. They are to be no further off than ggml's own, and the same bits with any number
// of threads. In batches, or without the mark, they are ggml's; those are right as well, whatever the batches.

#include "linear-testing.h"
#include "suite.h"

namespace {

struct problem {
    ggml_type type;

    int n_in;
    int n_out;
    int n_rows;
    int n_batch;   // rows in another dimension
    int n_weights; // weights in it, as many or fewer

    std::vector<uint8_t> w;
    std::vector<float>   w_f32; // what w holds
    std::vector<float>   x;
};

} // namespace

static void quantize(problem & p) {
    p.w = linear_quantize(p.type, p.n_in, p.w_f32);
}

static problem random_problem(
        test_random & rnd, ggml_type type, int n_in, int n_out, int n_rows, int n_batch = 1, int n_weights = 1) {
    problem p = { type, n_in, n_out, n_rows, n_batch, n_weights, {}, {}, {} };

    p.x    .resize(n_in*n_rows*n_batch);
    p.w_f32.resize(n_in*n_out*n_weights);
    for (float & v : p.x)     { v = rnd.uniform(-1.0f, 1.0f); }
    for (float & v : p.w_f32) { v = rnd.uniform(-1.0f, 1.0f); }

    quantize(p);
    return p;
}

// Sums as large as they get: weights at the end of their range, but for one of 16, by activations that are all alike.
static problem largest_problem(test_random & rnd, ggml_type type, float sign, int n_rows) {
    problem p = random_problem(rnd, type, 512, 32, n_rows);

    for (size_t i = 0; i < p.x.size(); ++i) {
        p.x[i] = i/p.n_in % 2 ? 1.0f : -1.0f;
    }
    for (size_t i = 0; i < p.w_f32.size(); ++i) {
        p.w_f32[i] = i % 16 ? sign : -sign;
    }
    quantize(p);
    return p;
}

static std::vector<double> in_float64(const problem & p) {
    std::vector<double> res;
    for (int i = 0; i < p.n_rows*p.n_batch; ++i) {
        const float * w = p.w_f32.data() + i/p.n_rows/(p.n_batch/p.n_weights)*p.n_out*p.n_in;
        for (int j = 0; j < p.n_out; ++j) {
            double sum = 0.0;
            for (int k = 0; k < p.n_in; ++k) {
                sum += (double) w[j*p.n_in + k]*p.x[i*p.n_in + k];
            }
            res.push_back(sum);
        }
    }
    return res;
}

// empty where weights in this buffer do not serve the product
static std::vector<float> product(const problem & p, ggml_backend_buffer_type_t buft, bool marked, int n_threads) {
    ggml_context_ptr weights { ggml_init({ 2*ggml_tensor_overhead(), nullptr, true }) };

    ggml_tensor * w = ggml_new_tensor_3d(weights.get(), p.type, p.n_in, p.n_out, p.n_weights);

    ggml_backend_buffer_ptr buf { ggml_backend_alloc_ctx_tensors_from_buft(weights.get(), buft) };

    test_graph g;
    ggml_tensor * x = ggml_new_tensor_3d(g.ctx.get(), GGML_TYPE_F32, p.n_in, p.n_rows, p.n_batch);
    ggml_tensor * y = ggml_mul_mat(g.ctx.get(), w, x);
    if (!ggml_backend_supports_op(g.backend.get(), y)) {
        return {};
    }
    if (marked) {
        ggml_h2o_mark_linear(y);
    }
    g.alloc();
    ggml_backend_tensor_set(w, p.w.data(), 0, p.w.size());
    test_set(x, p.x);
    g.compute({ y }, n_threads);
    return test_get<float>(y);
}

// F16 in ggml's buffer for AMX is summed in F32 throughout, which two BF16 do not quite reach: 1e-10
static void check(const problem & p, double slack = 1e-10) {
    const std::vector<double> want = in_float64(p);

    for (ggml_backend_buffer_type_t buft : linear_buffer_types()) {
        const std::vector<float> theirs = product(p, buft, false, 1);
        if (theirs.empty()) {
            continue;
        }
        if (p.n_batch > 1 && error_of(theirs, want) > 1e-3) {
            fprintf(stderr, "%s in %s, %d x %d x %d x %d, %d weights: ggml's %g\n", ggml_type_name(p.type),
                    ggml_backend_buft_name(buft), p.n_in, p.n_out, p.n_rows, p.n_batch, p.n_weights, error_of(theirs, want));
            exit(1);
        }
        const auto ours = [&](int n_threads) { return product(p, buft, true, n_threads); };

        if (p.n_weights > 1 || p.type == GGML_TYPE_F32) {
            CHECK(same(ours(1), theirs));
        } else {
            check_ours(p.type, buft, { p.n_in, p.n_out, p.n_rows, p.n_batch }, theirs, want, slack, ours);
        }
    }
}

// A kernel of ours takes the product if `taken`. So many sums in another order are never all the same.
static void check_taken(const problem & p, bool taken) {
    ggml_backend_buffer_type_t buft = ggml_backend_cpu_buffer_type();

    CHECK(!taken || !same(product(p, buft, true, 1), product(p, buft, false, 1)));
}

// Fewer threads than were planned may run, in the work buffer of those that were planned.
static void check_fewer_threads(ggml_type type, int n_in, int n_out, int n_rows) {
    test_graph g;
    ggml_tensor * y = ggml_mul_mat(g.ctx.get(), ggml_new_tensor_2d(g.ctx.get(), type, n_in, n_out),
            ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F32, n_in, n_rows));
    ggml_h2o_mark_linear(y);
    g.alloc();

    ggml_cgraph * gf = ggml_new_graph(g.ctx.get());
    ggml_build_forward_expand(gf, y);
    for (int n = 2; n <= 64; ++n) {
        CHECK(ggml_graph_plan(gf, n - 1, nullptr).work_size <= ggml_graph_plan(gf, n, nullptr).work_size);
    }
}

// arguments: how many random products of each type; from one number of rows to the next, where they are few
static void test_types() {
    const int n_random = test_argument(0, 4);
    const int rows_by  = test_argument(1, 1);

    test_random rnd;

    for (const ggml_type type : LINEAR_TYPES) {
        const int n_block = ggml_blck_size(type);
        const int n_in    = n_block > 1 ? n_block : 8; // F16 and BF16: rows that no tile divides

        for (int i = 0; i < n_random; ++i) {
            const int n_out = i % 2 ? rnd.integer(1, 9)*32 : rnd.integer(1, 300); // ggml packs multiples of 32
            check(random_problem(rnd, type, rnd.integer(1, 800/n_in)*n_in, n_out, rnd.integer(64, 200)));
        }
        // ggml rounds these activations to themselves
        for (const int n_rows : { 70, 300 }) {
            check(largest_problem(rnd, type, 1.0f,  n_rows), 1e-5);
            check(largest_problem(rnd, type, -1.0f, n_rows), 1e-5);
        }

        // several panels of every dimension, more rows than are prepared at once, rows in two dimensions, few rows
        check(random_problem(rnd, type, 2304, 64, 70));
        check(random_problem(rnd, type, 256,  96, 1100));
        if (type == GGML_TYPE_F16 || type == GGML_TYPE_BF16) { // what no tile divides
            check(random_problem(rnd, type, 517, 131, 130));
        }
        // so many rows that some types go from 8 bits to 16: rows and outputs that no tile divides
        check(random_problem(rnd, type, 768, 8*rnd.integer(1, 40), rnd.integer(256, 600)));
        check(random_problem(rnd, type, 256,  64, 40, 3));
        check(random_problem(rnd, type, 256,  64, rnd.integer(16, 63)));

        // as many rows as a kernel takes at once, and those that are left; so many outputs that errors are much alike
        const bool takes_one = linear_has_int8(type) && (type == GGML_TYPE_Q4_0 || type == GGML_TYPE_Q4_1);

        for (int n_rows = 1; n_rows <= 16; n_rows += rows_by) {
            const problem p = random_problem(rnd, type, 768, 4000/n_rows + rnd.integer(1, 64), n_rows);

            check(p);
            check_taken(p, n_rows > 1 ? linear_has_int8(type) : takes_one);
            check(random_problem(rnd, type, 256, 8*(500/n_rows + rnd.integer(1, 8)), n_rows));
        }
        check(random_problem(rnd, type, 256, 31, 300)); // no whole panel
        check_fewer_threads(type, 1024, 3072, 1024);
        check_fewer_threads(type, 1024, 1056, 512);

        // in batches: one weight for all, one for two, one for each, which are ggml's; 1 row and several
        for (const int n_weights : { 1, 2, 4 }) {
            check(random_problem(rnd, type, 256, 64, 1, 4, n_weights), 1e-5);
            check(random_problem(rnd, type, 256, 64, 9, 4, n_weights), 1e-5);
        }
    }
}

static const suite cases("linear-op", [](suite & s) {
    s.add("types and shapes", test_types);
});
