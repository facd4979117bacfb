// GGML_OP_H2O, ESTIMATE, as cases of test-backend-ops; part of test-backend-ops-h2o.h.

#pragma once

#include "h2o-oracle-estimate.h"

#include <array>

// sets of every kind, and states that weigh as much as the estimate, far more, and next to nothing
struct test_h2o_estimate : public test_h2o_case {
    const int           d_k;
    const int           d_v;
    const int           n_group;
    const int           n_head_kv;
    const int           n_queries;
    const int           n_cand;
    const int           n_set;     // room for members
    const bool          has_order; // blocks are not of neighbours
    const test_h2o_kind kind;      // special: NaN in a query, in a mean key and in a mean value

    const int n_head  = n_head_kv*n_group;
    const int n_pages = n_cand/GGML_H2O_PAGE;
    const int n_sets  = (n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK;

    ggml_tensor * q      = nullptr;
    ggml_tensor * keys   = nullptr;
    ggml_tensor * values = nullptr;
    ggml_tensor * set    = nullptr;
    ggml_tensor * order  = nullptr;
    ggml_tensor * o      = nullptr;
    ggml_tensor * lse    = nullptr;

    std::vector<float>   qs;       // [n_queries][n_head][d_k]
    std::vector<float>   ks;       // [n_head_kv][room for pages][d_k]
    std::vector<float>   vs;       // [n_head_kv][room for pages][d_v]
    std::vector<float>   os;       // [n_queries][n_head][d_v]
    std::vector<float>   ls;       // [n_queries][n_head]
    std::vector<int32_t> queries;  // [n_head][n_queries]
    std::vector<char>    is_kept;  // [n_queries][n_head]: the state stays, bit by bit
    std::vector<double>  left_out; // [n_pages] of a block

    float least_distance = -INFINITY; // of a state's log-sum-exp to that of its estimate

    std::string vars() override {
        return "h2o=estimate," + VARS_TO_STR6(d_k, d_v, n_group, n_head_kv, n_queries, n_cand) + "," + VARS_TO_STR3(n_set, has_order, kind);
    }

    test_h2o_estimate(int d_k, int d_v, int n_group, int n_head_kv, int n_queries, int n_cand, int n_set,
            bool has_order = true, test_h2o_kind kind = TEST_H2O_DISTINCT)
        : d_k(d_k), d_v(d_v), n_group(n_group), n_head_kv(n_head_kv), n_queries(n_queries), n_cand(n_cand), n_set(n_set),
          has_order(has_order), kind(kind) {}

    float scale() const { return 1.0f/std::sqrt((float) d_k); }

    // wider than what is complete
    ggml_tensor * build_graph(ggml_context * ctx) override {
        q      = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d_k, n_head, n_queries);
        keys   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d_k, n_pages + 2, n_head_kv);
        values = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d_v, n_pages + 1, n_head_kv);
        set    = ggml_new_tensor_3d(ctx, GGML_TYPE_I32, n_set, n_head, n_sets);
        order  = has_order ? ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_queries, n_head) : nullptr;
        o      = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d_v, n_head, n_queries);
        lse    = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 1, n_head, n_queries);

        return ggml_h2o_estimate(ctx, q, keys, values, set, order, o, lse, n_cand, scale());
    }

    const float * key  (int page, int head) const { return ks.data() + ((size_t) head/n_group*(n_pages + 2) + page)*d_k; }
    const float * value(int page, int head) const { return vs.data() + ((size_t) head/n_group*(n_pages + 1) + page)*d_v; }

    // the i-th query of a block and head
    size_t row(int block, int head, int i) const {
        return (size_t) queries[(size_t) head*n_queries + block*GGML_H2O_BLOCK + i]*n_head + head;
    }

    int n_block(int block) const { return std::min(GGML_H2O_BLOCK, n_queries - block*GGML_H2O_BLOCK); }

    static std::vector<float> uniform(std::mt19937 & gen, size_t n, float max) {
        std::uniform_real_distribution<float> dist(-max, max);

        std::vector<float> res(n);
        for (float & x : res) {
            x = dist(gen);
        }
        return res;
    }

    // means that nobody may read, those of the first page and of what is not complete, are NaN
    std::vector<float> draw_means(std::mt19937 & gen, int d, int room) const {
        std::vector<float> res = uniform(gen, (size_t) n_head_kv*room*d, 1.0f);
        for (size_t i = 0; i < res.size(); i++) {
            const int page = i/d % room;
            if (page == 0 || page >= n_pages) {
                res[i] = NAN;
            }
        }
        return res;
    }

    // members, as many as there is room for, ascending
    std::vector<int32_t> draw_set(std::mt19937 & gen) const {
        enum { FEW, NONE, WHOLE_PAGES, NEARLY_WHOLE_PAGES, ALL, N_KINDS };
        const int set_kind = gen() % N_KINDS;

        // pages with all of their keys
        std::vector<int32_t> taken = ascending(gen, std::min(n_pages, n_set/GGML_H2O_PAGE), n_pages);
        if (kind == TEST_H2O_SPECIAL && !taken.empty() && n_pages > 1) {
            taken[0] = 1; // that has NaN
        }
        std::vector<char> is_taken(n_pages + 1, 0);
        for (const int32_t page : taken) {
            is_taken[page] = 1;
        }
        std::vector<int32_t> wanted;
        for (int cell = 1; cell < n_cand; cell++) {
            const int n_left = cell/GGML_H2O_PAGE % 3 + 1; // of a page that is nearly whole

            const bool is_wanted[N_KINDS] = {
                gen() % 4 == 0, false, (bool) is_taken[cell/GGML_H2O_PAGE],
                is_taken[cell/GGML_H2O_PAGE] && (cell*37 + cell/GGML_H2O_PAGE) % GGML_H2O_PAGE >= n_left, true,
            };
            if (is_wanted[set_kind]) {
                wanted.push_back(cell);
            }
        }
        std::vector<int32_t> res = { 0 };
        std::sample(wanted.begin(), wanted.end(), std::back_inserter(res), n_set - 1, gen);
        return res;
    }

    std::vector<double> result_of(size_t row, int head) const {
        return h2o_oracle_estimate({ d_k, d_v, qs.data() + row*d_k, os.data() + row*d_v, ls[row] }, scale(), left_out,
                [&](int page) { return key(page, head); }, [&](int page) { return value(page, head); });
    }

    // what a query got before, beside the estimate
    float draw_lse(std::mt19937 & gen, size_t row, int head) {
        ls[row] = -INFINITY;
        const double estimate = result_of(row, head).back();

        const float distance = std::array<float, 8> { -2.0f, -1.0f, 0.0f, 1.0f, 2.0f, 60.0f, -60.0f, least_distance }[gen() % 8];
        return (std::isfinite(estimate) ? estimate : 3.0) + distance;
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { q, keys, values, set, order, o, lse });

        std::mt19937 gen(n_cand + n_set + n_queries);

        queries = some_order(gen, n_queries, n_head);
        for (size_t i = 0; i < queries.size() && !has_order; i++) {
            queries[i] = i % n_queries;
        }
        const size_t n_states = (size_t) n_queries*n_head;

        qs = uniform(gen, n_states*d_k, 8.0f);
        os = uniform(gen, n_states*d_v, 1.0f);
        ls.assign(n_states, 0.0f);
        ks = draw_means(gen, d_k, n_pages + 2);
        vs = draw_means(gen, d_v, n_pages + 1);
        if (kind == TEST_H2O_SPECIAL) {
            qs[d_k/2]   = NAN; // of the first query and head
            ks[d_k + 1] = NAN; // of the first KV head
            vs[((size_t) n_head_kv*(n_pages + 1) - 1)*d_v - 3] = NAN; // of the last KV head and page
        }

        std::vector<int32_t> sets;
        is_kept.assign(n_states, 0);
        expected.assign((d_v + 1)*n_states, 0.0f);
        for (int block = 0; block < n_sets; block++) {
            for (int head = 0; head < n_head; head++) {
                const std::vector<int32_t> members = draw_set(gen);
                for (int i = 0; i < n_set; i++) {
                    sets.push_back(members[std::min(i, (int) members.size() - 1)]);
                }
                left_out = h2o_oracle_left_out(members, n_pages);

                for (int i = 0; i < n_block(block); i++) {
                    const size_t at = row(block, head, i);
                    ls[at] = draw_lse(gen, at, head);

                    const std::vector<double> result = result_of(at, head);
                    std::copy_n(result.begin(), d_v, expected.begin() + at*d_v);
                    expected[n_states*d_v + at] = result.back();

                    is_kept[at] = std::all_of(left_out.begin(), left_out.end(), [](double x) { return x < 0.0; });
                }
            }
        }

        set_data(q,      qs);
        set_data(keys,   ks);
        set_data(values, vs);
        set_data(set,    sets);
        set_data(o,      os);
        set_data(lse,    ls);
        if (order) {
            set_data(order, queries);
        }
    }

    // The larger error of outputs, normalised, and of log-sum-exps, which is that of a logit: both as mean squares. What is NaN is NaN
    // in both, and a state that stays does so exactly.
    double err(const float * a, const float * b, size_t n) override {
        if (n != expected.size()) {
            return test_case::err(a, b, n);
        }
        const size_t n_states = is_kept.size();

        double res = 0.0;
        for (const float * x : { a, b }) {
            double errors[2] = {};
            double powers[2] = { 1e-30, (double) n_states };

            for (size_t i = 0; i < n; i++) {
                const bool   is_lse  = i >= n_states*d_v;
                const size_t at      = is_lse ? i - n_states*d_v : i/d_v;
                const bool   is_same = x[i] == expected[i] || (std::isnan(x[i]) && std::isnan(expected[i]));

                if (std::isnan(x[i]) != std::isnan(expected[i]) || (is_kept[at] && !is_same)) {
                    return INFINITY;
                }
                if (!is_same) {
                    errors[is_lse] += ((double) x[i] - expected[i])*((double) x[i] - expected[i]);
                }
                if (!is_lse && !std::isnan(expected[i])) {
                    powers[0] += (double) expected[i]*expected[i];
                }
            }
            res = larger(res, larger(errors[0]/powers[0], errors[1]/powers[1]));
        }
        return res;
    }

    // a backend may round queries and means
    double max_nmse_err() override {
        return 1e-5;
    }
};

// What is NaN in a query or a mean is NaN in the output, which test-backend-ops does not take: test/native/ops/query-op.cpp has
// such cases.
inline void h2o_add_test_cases_estimate(std::vector<std::unique_ptr<test_case>> & cases) {
    const auto add = [&](auto... args) { cases.emplace_back(new test_h2o_estimate(args...)); };

    for (const int d : { 64, 80, 96, 128, 256 }) {
        add(d, d, 2, 2, 200, 2900, 640);
        add(d, d, 3, 1,  70,  900, 900, false);
    }
    // values of another size than keys; not whole vectors
    add(192, 128, 2, 2, 130, 2900, 640);
    add( 64,  80, 2, 1, 130, 2900, 640);
    add( 80, 256, 2, 1,  65, 1200, 400, false);
    add( 72,  72, 2, 2, 130, 2500, 300);
    add(576, 512, 4, 1,  64,  700, 300);
    add( 40,  64, 2, 2,  97,  700, 300);

    for (const int n_group : { 1, 4, 7 }) {
        add(64, 64, n_group, 2, 130, 1500, 300);
    }
    // one query; a block that is all but full, full, and one query more
    for (const int n_queries : { 1, 63, 64, 65, 128 }) {
        add(64,  64, 3, 2, n_queries, 1000, 400);
        add(64,  72, 3, 2, n_queries, 1000, 400, false);
    }
    // the first page and one more, whole, and with candidates behind it; room for all of it
    for (const int n_cand : { 128, 129, 191 }) {
        add(128, 128, 2, 2, 130, n_cand, 64);
        add( 64,  64, 2, 4, 130, n_cand, n_cand);
        add( 64,  40, 2, 4, 130, n_cand, n_cand);
    }
    // position 0 alone
    add(64, 64, 2, 2, 130, 1000, 1);
    // tiles of a GPU that are full of pages, and not
    for (const int n_pages : { 32, 33, 34, 64, 65, 66, 128, 129, 130 }) {
        add(64, 64, 2, 1, 65, n_pages*GGML_H2O_PAGE + 5, 164);
    }
    add(256, 256, 1, 1, 65, 65*GGML_H2O_PAGE, 1300);
    // many pages
    add(64, 64, 1, 1, 66, 66000, 8200);
    // a chunk of a real size
    add(128, 128, 2, 1, 512, 16900, 5000);
}
