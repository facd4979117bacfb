// What H2O asks of a backend, as cases of test-backend-ops:
// included by tests/test-backend-ops.cpp after its last test_case.
//
// Each case knows its result, by the oracle or by plain loops over the inputs, and holds both backends to it. So the cases
// mean something with one backend too: `test-backend-ops -b CPU -p h2o=` runs them, and only them.

#pragma once

#include "../ops/ggml-h2o.h"

#include "h2o-oracle.h"

#include <limits>
#include <map>

// what the scores or keys of a case are
enum test_h2o_kind {
    TEST_H2O_DISTINCT,
    TEST_H2O_TIES,    // few different ones
    TEST_H2O_SPECIAL, // NaN and infinities among scores and queries; NaN and zeros among keys
};

static std::string var_to_str(test_h2o_kind kind) {
    const char * names[] = { "distinct", "ties", "special" };
    return names[kind];
}

struct test_h2o_case : public test_case {
    std::vector<float> expected; // of the last node

    // n positions below `end`, ascending, each once
    static std::vector<int32_t> ascending(std::mt19937 & gen, int n, int end) {
        std::vector<int32_t> all(end);
        for (int i = 0; i < end; i++) {
            all[i] = i;
        }
        std::vector<int32_t> res;
        std::sample(all.begin(), all.end(), std::back_inserter(res), n, gen);
        return res;
    }

    // one such row of n_rows positions per head
    static std::vector<int32_t> ascending_per_head(std::mt19937 & gen, int n_rows, int end, int n_head_kv) {
        std::vector<int32_t> res;
        for (int h = 0; h < n_head_kv; h++) {
            const std::vector<int32_t> row = ascending(gen, n_rows, end);
            res.insert(res.end(), row.begin(), row.end());
        }
        return res;
    }

    // [n_head][n_queries]: which query is where, as ggml_h2o_order might have it
    static std::vector<int32_t> some_order(std::mt19937 & gen, int n_queries, int n_head) {
        std::vector<int32_t> res;
        for (int h = 0; h < n_head; h++) {
            std::vector<int32_t> row = ascending(gen, n_queries, n_queries);
            std::shuffle(row.begin(), row.end(), gen);
            for (int begin = 0; begin < n_queries; begin += GGML_H2O_BLOCK) {
                std::sort(row.begin() + begin, row.begin() + std::min(begin + GGML_H2O_BLOCK, n_queries));
            }
            res.insert(res.end(), row.begin(), row.end());
        }
        return res;
    }

    template <typename T>
    static void set_data(ggml_tensor * t, const std::vector<T> & data) {
        GGML_ASSERT(ggml_nbytes(t) == data.size()*sizeof(T));
        ggml_backend_tensor_set(t, data.data(), 0, ggml_nbytes(t));
    }

    // random values in all tensors but those that the case fills itself
    static void initialize_others(ggml_context * ctx, const std::set<ggml_tensor *> & own) {
        for (ggml_tensor * t = ggml_get_first_tensor(ctx); t != nullptr; t = ggml_get_next_tensor(ctx, t)) {
            if (!ggml_is_view_op(t->op) && !own.count(t)) {
                init_tensor_uniform(t);
            }
        }
    }

    // elements that either backend has wrong; gathers, selection and lookup are exact
    double err(const float * a, const float * b, size_t n) override {
        GGML_ASSERT(expected.size() != sentinel_size);
        if (n != expected.size()) {
            return test_case::err(a, b, n);
        }
        double n_wrong = 0;
        for (size_t i = 0; i < n; i++) {
            for (const float x : { a[i], b[i] }) {
                n_wrong += x != expected[i] && !(std::isnan(x) && std::isnan(expected[i]));
            }
        }
        return n_wrong;
    }

    double max_nmse_err() override {
        return 0.0;
    }

    static double larger(double a, double b) { return std::isnan(b) || b > a ? b : a; } // NaN is the largest

    // of either backend in elements [begin, end)
    double larger_nmse(const float * a, const float * b, size_t begin, size_t end) const {
        return larger(nmse(expected.data() + begin, a + begin, end - begin), nmse(expected.data() + begin, b + begin, end - begin));
    }
};

// GGML_OP_GET_ROWS, other rows for each head, of a cache in use by strides. K, or V as it lies beside it: a = [d, n_kv,
// n_head_kv], b = [n_rows, n_head_kv]. Transposed V, where the cells of a channel are neighbours: rows of one element,
// a = [1, n_kv, d, n_head_kv], b = [n_rows, d, n_head_kv]
struct test_h2o_gather : public test_h2o_case {
    const ggml_type type;
    const int       d;
    const int       n_kv;
    const int       n_head_kv;
    const int       n_rows;
    const bool      v_trans;

    ggml_tensor * cache = nullptr;
    ggml_tensor * rows  = nullptr;

    std::string vars() override {
        return "h2o=rows," + VARS_TO_STR6(type, d, n_kv, n_head_kv, n_rows, v_trans);
    }

    test_h2o_gather(ggml_type type, int d, int n_kv, int n_head_kv, int n_rows, bool v_trans = false)
        : type(type), d(d), n_kv(n_kv), n_head_kv(n_head_kv), n_rows(n_rows), v_trans(v_trans) {}

    ggml_tensor * build_graph(ggml_context * ctx) override {
        const int n_cells = n_kv + 7; // the cache is larger than what is in use
        if (v_trans) {
            cache = ggml_new_tensor_2d(ctx, type, n_cells, d*n_head_kv);
            rows  = ggml_new_tensor_3d(ctx, GGML_TYPE_I32, n_rows, d, n_head_kv);
            return ggml_get_rows(ctx, ggml_view_4d(ctx, cache, 1, n_kv, d, n_head_kv, cache->nb[0], cache->nb[1], d*cache->nb[1], 0), rows);
        }
        cache = ggml_new_tensor_2d(ctx, type, d*n_head_kv, n_cells);
        rows  = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_rows, n_head_kv);
        return ggml_get_rows(ctx, ggml_view_3d(ctx, cache, d, n_kv, n_head_kv, cache->nb[1], ggml_row_size(type, d), 0), rows);
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { rows });

        std::mt19937 gen(n_rows);
        const std::vector<float> data = tensor_to_float(cache);
        const auto at = [&](int cell, int channel) {
            return data[v_trans ? (size_t) channel*cache->ne[0] + cell : (size_t) cell*cache->ne[0] + channel];
        };

        std::vector<int32_t> idxs;
        expected.clear();
        for (int h = 0; h < n_head_kv; h++) {
            const std::vector<int32_t> row = ascending(gen, n_rows, n_kv);
            for (int i = 0; i < (v_trans ? d : 1); i++) {
                idxs.insert(idxs.end(), row.begin(), row.end());
            }
            for (int i = 0; i < d*n_rows; i++) {
                expected.push_back(v_trans ? at(row[i%n_rows], h*d + i/n_rows) : at(row[i/d], h*d + i%d));
            }
        }
        set_data(rows, idxs);
    }
};

// a memory set and a chunk with their scores, the inputs of both sub-ops
struct test_h2o_tracked : public test_h2o_case {
    const ggml_h2o_tracked tracked;
    const int              n_head_kv;
    const test_h2o_kind    scores;

    ggml_tensor * mem_pos     = nullptr;
    ggml_tensor * mem_score   = nullptr;
    ggml_tensor * chunk_score = nullptr;

    std::string vars() override {
        const auto [n_mem, mem_end, chunk_pos, n_chunk] = tracked;
        return VARS_TO_STR6(n_mem, mem_end, chunk_pos, n_chunk, n_head_kv, scores);
    }

    test_h2o_tracked(ggml_h2o_tracked tracked, int n_head_kv, test_h2o_kind scores)
        : tracked(tracked), n_head_kv(n_head_kv), scores(scores) {}

    // wider than what counts, as the buffers of a context are
    void build_inputs(ggml_context * ctx) {
        mem_pos     = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, tracked.n_mem   + 3, n_head_kv);
        mem_score   = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, tracked.n_mem   + 3, n_head_kv);
        chunk_score = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, tracked.n_chunk + 5, n_head_kv);
    }

    std::vector<float> random_scores(std::mt19937 & gen, size_t n) const {
        const float inf = std::numeric_limits<float>::infinity();
        const float special[] = { NAN, inf, -inf, 0.0f, 1.0f };

        std::vector<float> res(n);
        for (float & score : res) {
            score = scores == TEST_H2O_DISTINCT ? std::uniform_real_distribution<float>(0.0f, 10.0f)(gen) :
                    scores == TEST_H2O_TIES     ? gen() % 3 : special[gen() % 5];
        }
        return res;
    }

    // position -> score of what counts, per head
    std::vector<std::map<int32_t, float>> initialize_inputs(std::mt19937 & gen) {
        const size_t n_mem   = mem_pos->ne[0];
        const size_t n_chunk = chunk_score->ne[0];

        const std::vector<float> ms = random_scores(gen, n_mem  *n_head_kv);
        const std::vector<float> cs = random_scores(gen, n_chunk*n_head_kv);

        std::vector<int32_t> mp(n_mem*n_head_kv, -1);
        std::vector<std::map<int32_t, float>> res(n_head_kv);
        for (int h = 0; h < n_head_kv; h++) {
            const std::vector<int32_t> row = ascending(gen, tracked.n_mem, tracked.chunk_pos);
            for (int i = 0; i < tracked.n_mem; i++) {
                mp[h*n_mem + i] = row[i];
                if (row[i] < tracked.mem_end) {
                    res[h][row[i]] = ms[h*n_mem + i];
                }
            }
            for (int i = 0; i < tracked.n_chunk; i++) {
                res[h][tracked.chunk_pos + i] = cs[h*n_chunk + i];
            }
        }

        set_data(mem_pos,     mp);
        set_data(mem_score,   ms);
        set_data(chunk_score, cs);
        return res;
    }
};

// GGML_OP_H2O, SELECT
struct test_h2o_select : public test_h2o_tracked {
    const int pos;
    const int n_local;
    const int n_heavy;

    std::string vars() override {
        return "h2o=select," + test_h2o_tracked::vars() + "," + VARS_TO_STR3(pos, n_local, n_heavy);
    }

    test_h2o_select(ggml_h2o_tracked tracked, int pos, int n_local, int n_heavy, int n_head_kv = 3,
            test_h2o_kind scores = TEST_H2O_DISTINCT)
        : test_h2o_tracked(tracked, n_head_kv, scores),
          pos(pos), n_local(n_local), n_heavy(n_heavy) {}

    ggml_tensor * build_graph(ggml_context * ctx) override {
        build_inputs(ctx);
        return ggml_h2o_select(ctx, mem_pos, mem_score, chunk_score, tracked, pos, n_local, n_heavy);
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { mem_pos, mem_score, chunk_score });

        std::mt19937 gen(pos);
        expected.clear();
        for (const std::map<int32_t, float> & candidates : initialize_inputs(gen)) {
            const std::vector<int32_t> set = h2o_oracle_select(candidates, pos, n_local, n_heavy);
            expected.insert(expected.end(), set.begin(), set.end());
        }
    }
};

// GGML_OP_H2O, LOOKUP
struct test_h2o_lookup : public test_h2o_tracked {
    const int n_set;

    ggml_tensor * set = nullptr;

    std::string vars() override {
        return "h2o=lookup," + test_h2o_tracked::vars() + "," + VARS_TO_STR1(n_set);
    }

    test_h2o_lookup(ggml_h2o_tracked tracked, int n_set, int n_head_kv = 3, test_h2o_kind scores = TEST_H2O_DISTINCT)
        : test_h2o_tracked(tracked, n_head_kv, scores), n_set(n_set) {}

    ggml_tensor * build_graph(ggml_context * ctx) override {
        build_inputs(ctx);
        set = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_set, n_head_kv);
        return ggml_h2o_lookup(ctx, set, mem_pos, mem_score, chunk_score, tracked);
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { mem_pos, mem_score, chunk_score, set });

        std::mt19937 gen(n_set);
        auto scores = initialize_inputs(gen);

        // tracked or not, some of them past the chunk
        const std::vector<int32_t> pos = ascending_per_head(gen, n_set, tracked.chunk_pos + tracked.n_chunk + 9, n_head_kv);
        set_data(set, pos);

        expected.clear();
        for (int h = 0; h < n_head_kv; h++) {
            for (int i = 0; i < n_set; i++) {
                const auto it = scores[h].find(pos[h*n_set + i]);
                expected.push_back(it == scores[h].end() ? 0.0f : it->second);
            }
        }
    }
};

#include "test-backend-ops-h2o-attn.h"
#include "test-backend-ops-h2o-estimate.h"
#include "test-backend-ops-h2o-order.h"
#include "test-backend-ops-h2o-query.h"

// make_test_cases_eval: adds the cases
inline void h2o_add_test_cases(std::vector<std::unique_ptr<test_case>> & cases) {
    for (const int n_head_kv : { 1, 2, 8 }) {
        for (const int n_rows : { 3, 77 }) {
            for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0 }) {
                for (const auto & [d, n_kv] : { std::pair(64, 256), std::pair(128, 300), std::pair(80, 300) }) {
                    if (d % ggml_blck_size(type) == 0) {
                        cases.emplace_back(new test_h2o_gather(type, d, n_kv, n_head_kv, n_rows));
                    }
                    if (!ggml_is_quantized(type)) {
                        cases.emplace_back(new test_h2o_gather(type, d, n_kv, n_head_kv, n_rows, true));
                    }
                }
            }
        }
    }

    const int all = std::numeric_limits<int32_t>::max(); // mem_end: no member was removed

    for (const auto scores : { TEST_H2O_DISTINCT, TEST_H2O_TIES, TEST_H2O_SPECIAL }) {
        for (const int n_head_kv : { 1, 8 }) {
            // the first chunk, a later one, an odd one
            cases.emplace_back(new test_h2o_select({   0, all,    0,  512 },  512, 256, 255, n_head_kv, scores));
            cases.emplace_back(new test_h2o_select({ 511, all, 1536,  512 }, 2048, 256, 255, n_head_kv, scores));
            cases.emplace_back(new test_h2o_select({  37, all,  101,   53 },  154,  19,  18, n_head_kv, scores));
        }
    }
    // Local or Heavy alone, Local longer than the chunk
    cases.emplace_back(new test_h2o_select({ 50, all, 300,  64 }, 364,  50,   0));
    cases.emplace_back(new test_h2o_select({ 50, all, 300,  64 }, 364,   0,  50));
    cases.emplace_back(new test_h2o_select({ 50, all, 300,  16 }, 316,  40,  10));
    // fewer positions than Local and Heavy want, or than Heavy can choose from
    cases.emplace_back(new test_h2o_select({  0, all,   0,  16 },  16,  12,  12));
    cases.emplace_back(new test_h2o_select({  4, all, 200,  16 }, 216,   8,  90));
    // dense calls between the chunk and pos; a chunk that was cut, members that were removed
    cases.emplace_back(new test_h2o_select({ 40, all, 300,  64 }, 400,  32,  40));
    cases.emplace_back(new test_h2o_select({ 40, 150, 300,   0 }, 150,  32,  40));
    cases.emplace_back(new test_h2o_select({ 40, 150, 300,   0 }, 250,  32,  40));
    cases.emplace_back(new test_h2o_select({ 40, all, 300,  11 }, 311,  32,  40));
    // long
    cases.emplace_back(new test_h2o_select({ 4000, all, 28672, 4096 }, 32768, 2048, 1952, 2));

    cases.emplace_back(new test_h2o_lookup({   0, all,    0,  64 },  40));
    cases.emplace_back(new test_h2o_lookup({ 511, all, 1536, 512 }, 511, 8));
    cases.emplace_back(new test_h2o_lookup({  40, 150,  300,   0 },  72));
    cases.emplace_back(new test_h2o_lookup({  37, all,  101,  53 },  37, 1));

    h2o_add_test_cases_attn(cases);
    h2o_add_test_cases_order(cases);
    h2o_add_test_cases_query(cases);
    h2o_add_test_cases_estimate(cases);
}
