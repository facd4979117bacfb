// GGML_OP_H2O, ORDER, as cases of test-backend-ops; part of test-backend-ops-h2o.h.

#pragma once

#include "h2o-oracle-order.h"

#include <iterator>

// queries of a few topics, whose order is as rounding has it
struct test_h2o_order : public test_h2o_case {
    const int           d;
    const int           n_head;
    const int           n_queries;
    const test_h2o_kind kind; // ties: few different queries, and two halves of channels that vary alike
    const int           exponent; // values are below 2 to this power

    ggml_tensor * q   = nullptr;
    ggml_tensor * out = nullptr;

    std::string vars() override {
        return "h2o=order," + VARS_TO_STR5(d, n_head, n_queries, kind, exponent);
    }

    test_h2o_order(int d, int n_head, int n_queries, test_h2o_kind kind = TEST_H2O_DISTINCT, int exponent = 3)
        : d(d), n_head(n_head), n_queries(n_queries), kind(kind), exponent(exponent) {}

    ggml_tensor * build_graph(ggml_context * ctx) override {
        q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_head, n_queries);
        return out = ggml_h2o_order(ctx, q);
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { q, out });

        std::mt19937 gen(d + n_queries);
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);

        // [n_topics][n_head*d]
        const size_t n_row    = (size_t) n_head*d;
        const int    n_topics = 5;
        std::vector<float> topics(n_topics*n_row);
        for (float & x : topics) {
            x = uniform(gen);
        }

        std::vector<float> qs(n_queries*n_row);
        for (size_t i = 0; i < qs.size(); i += n_row) {
            const size_t topic = gen() % n_topics*n_row;

            for (size_t j = 0; j < n_row; j++) {
                const float own = kind == TEST_H2O_TIES ? 0.0f : uniform(gen);
                const int   e   = exponent - (j/d + 1 == (size_t) n_head ? 9 : 0); // the last head is much smaller than the others

                const float special[] = {
                    NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-45f, std::ldexp(0.9999f, e), -std::ldexp(0.9999f, e), // 128 by 8 bits
                };
                qs[i + j] = std::ldexp(0.5f*topics[topic + j] + 0.5f*own, e);

                if (kind == TEST_H2O_SPECIAL && gen() % 20 == 0) {
                    qs[i + j] = special[gen() % std::size(special)];
                }
                if (kind == TEST_H2O_TIES && (int) j%d >= (d + 1)/2) {
                    qs[i + j] = -qs[i + j - d/2];
                }
            }
        }
        set_queries(qs);
    }

    // [n_queries][n_head*d]
    void set_queries(const std::vector<float> & qs) {
        set_data(q, qs);

        expected.clear();
        for (int h = 0; h < n_head; h++) {
            const std::vector<int32_t> order = h2o_oracle_order(
                    [&](int i) { return qs.data() + ((size_t) i*n_head + h)*d; }, n_queries, d);
            expected.insert(expected.end(), order.begin(), order.end());
        }
    }
};

// queries that lie half-way between two integers, but for rare ones: each way to round them has another order
struct test_h2o_order_halves : public test_h2o_order {
    using test_h2o_order::test_h2o_order;

    std::string vars() override { return test_h2o_order::vars() + ",halves=1"; }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { q, out });

        std::mt19937 gen(n_queries);
        std::vector<float> qs((size_t) n_queries*n_head*d);
        for (float & x : qs) {
            const int twice = (int) (gen() % 511) - 255; // r is half of it, since the largest is 64 or more and below 128

            x = std::ldexp((float) (gen() % 16 ? twice | 1 : twice), exponent - 8);
        }
        set_queries(qs);
    }
};

inline void h2o_add_test_cases_order(std::vector<std::unique_ptr<test_case>> & cases) {
    const auto add = [&](auto... args) { cases.emplace_back(new test_h2o_order(args...)); };

    // one block, two, and parts that are not of the same size
    for (const int n_queries : { 1, 2, 63, 64, 65, 127, 128, 129, 192, 193, 300, 512, 700, 2000 }) {
        add(64, 3, n_queries);
    }
    for (const int d : { 1, 8, 20, 72, 80, 96, 128, 256 }) {
        add(d, 2, 200);
        add(d, 2, 333, TEST_H2O_SPECIAL);
    }
    for (const int n_queries : { 65, 250, 777 }) {
        add(64, 2, n_queries, TEST_H2O_TIES);
        add(64, 2, n_queries, TEST_H2O_SPECIAL);
    }
    // magnitudes: those of F32 at both ends, and none
    for (const int exponent : { -200, -148, -140, -126, -60, 0, 8, 60, 127, 128 }) {
        add(64, 2, 200, TEST_H2O_DISTINCT, exponent);
    }
    for (const int exponent : { 3, -60 }) {
        cases.emplace_back(new test_h2o_order_halves(64, 2, 700, TEST_H2O_DISTINCT, exponent));
    }
    add(128, 16, 4096);
}
