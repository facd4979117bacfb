// GGML_OP_H2O, PAGES and QUERY, as cases of test-backend-ops; part of test-backend-ops-h2o.h.
//
// The oracle reads the inputs as the cache has them.

#pragma once

#include "h2o-oracle-query.h"

#include <array>

// A K cache whose pages have a direction of their own, as a text has topics, and its index. The keys of the first page are
// next to their mean, so that they would show if they counted twice.
struct test_h2o_indexed : public test_h2o_case {
    const ggml_type     type;
    const int           d;
    const int           n_head_kv;
    const int           n_cells;
    const test_h2o_kind kind; // ties: every key stands four times in the cache
    const bool          quiet; // half of the channels of a head, or more, say next to nothing
    const bool          trans; // as V may lie: the cells of a channel are neighbours

    ggml_tensor * cache = nullptr;
    ggml_tensor * out   = nullptr;

    std::vector<float> keys; // [n_cells][n_head_kv][d]

    test_h2o_indexed(ggml_type type, int d, int n_head_kv, int n_cells, test_h2o_kind kind, bool quiet = false, bool trans = false)
        : type(type), d(d), n_head_kv(n_head_kv), n_cells(n_cells), kind(kind), quiet(quiet), trans(trans) {}

    std::string vars() override {
        return VARS_TO_STR5(type, d, n_head_kv, n_cells, kind);
    }

    int n_pages() const { return n_cells/GGML_H2O_PAGE; }

    // the cache is larger than what is in use
    ggml_tensor * build_keys(ggml_context * ctx) {
        if (trans) {
            cache = ggml_new_tensor_2d(ctx, type, n_cells + 7, d*n_head_kv);
            return ggml_view_3d(ctx, cache, n_cells, d, n_head_kv, cache->nb[1], d*cache->nb[1], 0);
        }
        cache = ggml_new_tensor_2d(ctx, type, d*n_head_kv, n_cells + 7);
        return ggml_view_3d(ctx, cache, d, n_cells, n_head_kv, cache->nb[1], ggml_row_size(type, d), 0);
    }

    const float * key(int cell, int h) const {
        return keys.data() + ((size_t) cell*n_head_kv + h)*d;
    }

    // of each value of a row: 1, or what is left of a quiet channel. Blocks of few bits are quiet as a whole.
    std::vector<float> draw_loudness(std::mt19937 & gen) const {
        if (!quiet) {
            return std::vector<float>(d*n_head_kv, 1.0f);
        }
        const int n_block = type == GGML_TYPE_Q8_0 ? 1 : ggml_blck_size(type);

        std::vector<float> res;
        for (int h = 0; h < n_head_kv; h++) {
            std::vector<float> blocks(d/n_block, 0.005f);
            std::fill(blocks.begin(), blocks.begin() + d/2/n_block, 1.0f);
            std::shuffle(blocks.begin(), blocks.end(), gen);

            for (int i = 0; i < d; i++) {
                res.push_back(blocks[i/n_block]);
            }
        }
        return res;
    }

    void initialize_keys(std::mt19937 & gen) {
        const std::vector<float> loudness = draw_loudness(gen);

        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);

        const size_t n_row = (size_t) n_head_kv*d;
        std::vector<float> data(n_row*(n_cells + 7));
        std::vector<float> direction(n_row);

        for (int cell = 0; cell < n_cells + 7; cell++) {
            float * row = data.data() + cell*n_row;
            for (size_t i = 0; i < n_row; i++) {
                direction[i] = cell % GGML_H2O_PAGE == 0 ? uniform(gen) : direction[i];
                row[i] = loudness[i]*(cell < GGML_H2O_PAGE ? 1.5f*direction[i] + 0.1f*uniform(gen) : 0.5f*direction[i] + uniform(gen));
            }
            if (kind == TEST_H2O_TIES && cell % 4 != 0) {
                std::copy(row - n_row, row, row);
            }
            if (kind == TEST_H2O_SPECIAL && cell % 50 == 7) {
                std::fill(row, row + n_row, 0.0f);
            }
            if (kind == TEST_H2O_SPECIAL && (cell == 5 || cell == 200)) { // in the first page, and in one whose mean counts
                row[d/2] = NAN;
            }
        }

        if (trans) {
            data = transposed(data, n_cells + 7, n_row);
        }
        std::vector<char> encoded(ggml_nbytes(cache));
        if (ggml_is_quantized(type)) {
            ggml_quantize_chunk(type, data.data(), encoded.data(), 0, n_cells + 7, n_row, nullptr);
        } else if (type == GGML_TYPE_F32) {
            memcpy(encoded.data(), data.data(), encoded.size());
        } else {
            ggml_get_type_traits(type)->from_float_ref(data.data(), encoded.data(), data.size());
        }
        set_data(cache, encoded);

        keys = tensor_to_float(cache);
        if (trans) {
            keys = transposed(keys, n_row, n_cells + 7);
        }
    }

    // of [n_rows][n]
    static std::vector<float> transposed(const std::vector<float> & x, size_t n_rows, size_t n) {
        std::vector<float> res(x.size());
        for (size_t i = 0; i < x.size(); i++) {
            res[i % n*n_rows + i/n] = x[i];
        }
        return res;
    }

    std::vector<double> mean_key(int page, int h) const {
        return h2o_oracle_mean_key([&](int cell) { return key(cell, h); }, d, page);
    }

    // [n_head_kv][n_pages][d]
    std::vector<float> all_pages() const {
        std::vector<float> res;
        for (int h = 0; h < n_head_kv; h++) {
            for (int page = 0; page < n_pages(); page++) {
                const std::vector<double> mean = mean_key(page, h);
                res.insert(res.end(), mean.begin(), mean.end());
            }
        }
        return res;
    }
};

// GGML_OP_H2O, PAGES: what lies outside of [begin, end) stays
struct test_h2o_pages : public test_h2o_indexed {
    const int begin;
    const int end;

    ggml_tensor * pages = nullptr;

    std::string vars() override {
        return "h2o=pages," + test_h2o_indexed::vars() + "," + VARS_TO_STR3(begin, end, trans);
    }

    test_h2o_pages(ggml_type type, int d, int n_head_kv, int n_cells, int begin, int end, bool trans = false)
        : test_h2o_indexed(type, d, n_head_kv, n_cells, TEST_H2O_DISTINCT, false, trans), begin(begin), end(end) {}

    ggml_tensor * build_graph(ggml_context * ctx) override {
        ggml_tensor * k = build_keys(ctx);
        pages = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_pages() + 1, n_head_kv);
        return out = ggml_h2o_pages(ctx, k, pages, trans, begin, end);
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { cache, out });

        std::mt19937 gen(n_cells);
        initialize_keys(gen);

        expected = tensor_to_float(pages);
        for (int h = 0; h < n_head_kv; h++) {
            for (int page = begin; page < end; page++) {
                const std::vector<double> mean = mean_key(page, h);
                std::copy(mean.begin(), mean.end(), expected.begin() + ((size_t) h*(n_pages() + 1) + page)*d);
            }
        }
    }

    double err(const float * a, const float * b, size_t n) override {
        if (n != expected.size()) {
            return test_case::err(a, b, n);
        }
        return larger_nmse(a, b, 0, n);
    }

    double max_nmse_err() override {
        return 1e-11;
    }
};

// GGML_OP_H2O, QUERY
struct test_h2o_query : public test_h2o_indexed {
    const int  n_group;
    const int  n_queries;
    const int  pos;
    const int  n_local;
    const int  n_heavy;
    const bool has_order; // blocks are not of neighbours

    const int n_head = n_head_kv*n_group;
    const int n_cand = pos - std::min(n_local, pos);
    const int n_set  = std::min(n_cand, n_heavy);
    const int n_sets = (n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK;

    // a logit may be: to BF16 with AMX, to 8 bits on other CPUs (to 7 where they have no VNNI), to F16 on a device
    const bool   is_rounded = may_use("H2O_AMX") || may_use("H2O_INT8");
    const double tolerance  = is_rounded ? 0.2 : 5e-4; // of a logit

    // it is, where the processor has it
    static bool may_use(const char * name) {
        const char * value = getenv(name);
        return !value || atoi(value) != 0;
    }

    ggml_tensor * q     = nullptr;
    ggml_tensor * order = nullptr;
    ggml_tensor * lse   = nullptr;
    ggml_tensor * pages = nullptr;

    std::vector<float>   qs;      // [n_queries][n_head][d]
    std::vector<float>   ls;      // [n_queries][n_head]
    std::vector<int32_t> queries; // [n_head][n_queries]

    std::vector<h2o_oracle_choice> choices; // [n_sets][n_head], unless all candidates are members

    std::string vars() override {
        return "h2o=query," + test_h2o_indexed::vars() + "," + VARS_TO_STR6(n_group, n_queries, pos, n_local, n_heavy, has_order);
    }

    test_h2o_query(ggml_type type, int d, int n_group, int n_head_kv, int n_queries, int pos, int n_local, int n_heavy,
            bool has_order = true, test_h2o_kind kind = TEST_H2O_DISTINCT)
        // by 8 bits half of the channels of a large head count
        : test_h2o_indexed(type, d, n_head_kv, pos + n_queries, kind, may_use("H2O_INT8") && d >= 64),
          n_group(n_group), n_queries(n_queries), pos(pos), n_local(n_local), n_heavy(n_heavy), has_order(has_order) {}

    float scale() const { return 1.0f/std::sqrt((float) d); }

    ggml_tensor * build_graph(ggml_context * ctx) override {
        q     = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_head, n_queries);
        order = has_order ? ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_queries, n_head) : nullptr;
        lse   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 1, n_head, n_queries);
        ggml_tensor * k = build_keys(ctx);
        pages = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_pages() + 2, n_head_kv); // wider than what is complete

        return out = ggml_h2o_query(ctx, q, order, lse, k, pages, pos, n_local, n_heavy, scale());
    }

    // the i-th query of a block and head
    size_t row(int block, int h, int i) const {
        return (size_t) queries[(size_t) h*n_queries + block*GGML_H2O_BLOCK + i]*n_head + h;
    }

    int n_block(int block) const { return std::min(GGML_H2O_BLOCK, n_queries - block*GGML_H2O_BLOCK); }

    // queries of a block and head, and what their surroundings give them
    void draw(std::mt19937 & gen, int block, int h) {
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);

        // so much that most keys are wanted, some, few, or none
        const float plenty = std::array<float, 5> { 5.0f, 15.0f, 17.0f, 19.0f, 40.0f }[gen() % 5];

        for (int i = 0; i < n_block(block); i++) {
            const size_t at = row(block, h, i);

            for (int j = 0; j < d; j++) {
                qs[at*d + j] = 8.0f*uniform(gen);
            }
            ls[at] = plenty + 4.0f*uniform(gen);

            if (kind == TEST_H2O_TIES && i % 3 != 0) {
                const size_t before = row(block, h, i - 1);

                std::copy_n(qs.begin() + before*d, d, qs.begin() + at*d);
                ls[at] = ls[before];
            }
        }
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { cache, q, order, lse, pages, out });

        std::mt19937 gen(pos + n_heavy);

        initialize_keys(gen);

        queries = some_order(gen, n_queries, n_head);
        for (size_t i = 0; i < queries.size() && !has_order; i++) {
            queries[i] = i % n_queries;
        }

        qs.resize((size_t) n_queries*n_head*d);
        ls.resize((size_t) n_queries*n_head);
        for (int block = 0; block < n_sets; block++) {
            for (int h = 0; h < n_head; h++) {
                draw(gen, block, h);
            }
        }
        if (kind == TEST_H2O_SPECIAL) {
            qs[d/2]   = NAN; // the first query of the first head, as attention would have left it
            ls[0]     = NAN;
            ls.back() = -INFINITY;
            ls[n_queries/2*n_head] = NAN;
        }
        const std::vector<float> means = all_pages();

        choices.clear();
        for (int i = 0; i < n_sets*n_head && n_set < n_cand; i++) {
            const int block = i/n_head;
            const int h     = i%n_head;

            choices.push_back(h2o_oracle_query(
                    { d, scale(), n_block(block), n_cand, n_heavy, means.data() + (size_t) h/n_group*n_pages()*d },
                    [&](int j) { return qs.data() + row(block, h, j)*d; },
                    [&](int j) { return (double) ls[row(block, h, j)]; },
                    [&](int cell) { return key(cell, h/n_group); }));
        }

        set_data(q,   qs);
        set_data(lse, ls);
        if (order) {
            set_data(order, queries);
        }

        // what is not complete is not read
        std::vector<float> all(ggml_nelements(pages), NAN);
        for (int h = 0; h < n_head_kv; h++) {
            std::copy_n(means.begin() + (size_t) h*n_pages()*d, n_pages()*d, all.begin() + (size_t) h*(n_pages() + 2)*d);
        }
        set_data(pages, all);
    }

    bool is_right(const float * got, const h2o_oracle_choice & choice) const {
        std::vector<char> is_in(n_cand, 0);
        for (int i = 0; i < n_set; i++) {
            const bool is_repeated = i > 0 && got[i] == got[i - 1] && got[i] == got[n_set - 1];

            if ((i > 0 && got[i] <= got[i - 1] && !is_repeated) || got[i] < 0 || got[i] >= n_cand) {
                return false;
            }
            is_in[(int) got[i]] = 1;
        }
        return choice.allows(is_in, tolerance, is_rounded ? h2o_oracle_page : n_cand); // 8 bits are a page's own
    }

    // sets that either backend has wrong
    double err(const float * a, const float * b, size_t n) override {
        if (n != (size_t) n_set*n_head*n_sets) {
            return test_case::err(a, b, n);
        }
        double n_wrong = 0;
        for (const float * x : { a, b }) {
            for (int i = 0; i < n_sets*n_head; i++) {
                const float * set = x + (size_t) i*n_set;

                if (n_set < n_cand) {
                    n_wrong += !is_right(set, choices[i]);
                    continue;
                }
                for (int j = 0; j < n_set; j++) {
                    n_wrong += set[j] != j;
                }
            }
        }
        return n_wrong;
    }
};

inline void h2o_add_test_cases_query(std::vector<std::unique_ptr<test_case>> & cases) {
    const auto ties    = TEST_H2O_TIES;
    const auto special = TEST_H2O_SPECIAL;

    const auto add = [&](auto... args) { cases.emplace_back(new test_h2o_query(args...)); };

    for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0 }) {
        for (const int d : { 64, 80, 96, 128, 256 }) {
            if (d % ggml_blck_size(type) != 0) {
                continue;
            }
            cases.emplace_back(new test_h2o_pages(type, d, 3, 700, 0, 10));
            cases.emplace_back(new test_h2o_pages(type, d, 2, 700, 7,  8));
            if (!ggml_is_quantized(type)) {
                cases.emplace_back(new test_h2o_pages(type, d, 3, 700, 0, 10, true));
                cases.emplace_back(new test_h2o_pages(type, d, 2, 701, 3,  9, true));
            }

            add(type, d, 2, 2, 200, 2900, 64, 60); // 64 would make as many numbers as a sentinel of the harness has
            add(type, d, 2, 2, 100, 2900, 64, 900, false);
        }
        // NaN has no place in a quantised key
        add(type, 64, 2, 2, 170, 2900, 64, 164, true, ties);
        add(type, 64, 2, 2,  70, 2900, 64, 900, false, ties);
        if (!ggml_is_quantized(type)) {
            add(type, 64, 2, 2, 170, 2900, 64,  64, true, special);
            add(type, 64, 2, 2,  70,  800, 64, 500, false, special);
        }
    }
    for (const ggml_type type : { GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 }) {
        cases.emplace_back(new test_h2o_pages(type, 128, 3, 700, 0, 10));

        add(type, 128, 2, 2, 200, 2900, 64, 264);
    }
    const ggml_type f16 = GGML_TYPE_F16;

    for (const int n_group : { 1, 2, 3, 4, 5, 6, 7, 8, 20 }) {
        add(f16, 64, n_group, 1, 130, 2500, 32, 300);
    }
    add(f16, 72, 2, 2, 130, 2500, 32, 300); // not whole vectors

    // all candidates; one more than can be chosen
    add(f16, 64, 2, 2, 130, 100, 40, 60);
    add(f16, 64, 2, 2, 130, 100, 40, 90);
    add(f16, 64, 2, 2, 130, 101, 40, 60);
    add(f16, 64, 2, 2, 130, 601, 40, 560);
    // position 0 alone; one candidate; a page less, whole, more; two pages
    for (const int n_cand : { 1, 2, 63, 64, 65, 127, 128, 129 }) {
        add(f16, 64, 2, 2, 130, n_cand,      0, 1);
        add(f16, 64, 2, 2, 130, n_cand + 32, 32, 40);
    }
    // candidates end in a page, at its end, behind it; Local longer than some pages
    add(f16, 64, 2, 2, 64, 2816, 101, 264);
    add(f16, 64, 2, 2, 64, 2816, 256, 264);
    add(f16, 64, 2, 2, 64, 2817,   0, 264);
    add(f16, 64, 2, 2, 64, 2879,   0, 264);
    add(f16, 64, 2, 2, 64, 2780, 900, 264);
    // one query; a block that is all but full, full, and one query more
    for (const int n_queries : { 1, 63, 64, 65, 129 }) {
        add(f16,           64, 3, 2, n_queries, 2780, 64, 64);
        add(GGML_TYPE_F32, 64, 4, 2, n_queries, 2780, 64, 364, false);
    }
    // many heads of one query, which a few pages give most of what it sees
    add(f16, 64, 20, 2, 1, 300, 0, 299, false);
    // more pages than a tile of a GPU's products has, and than it has threads
    add(f16, 96, 2, 1, 66, 16900, 64, 64);
    add(f16, 96, 1, 1, 66, 66000, 64, 2400);
    // sets that end where no query gives a key enough
    add(f16, 64, 2, 1, 100, 3000, 64, 2900);
    add(f16, 64, 2, 1,  66, 9900, 64, 9000);
    // a chunk of a real size
    add(f16, 64, 2, 1, 512, 3000, 256, 256);
}
