// GGML_OP_H2O, PAGES, LANDMARKS and QUERY, as cases of test-backend-ops; part of test-backend-ops-h2o.h.
//
// The oracle reads the inputs as the cache has them.

#pragma once

#include "h2o-oracle-query.h"

#include <array>

// a K cache whose pages have a direction of their own, as a text has topics; and its indexes
struct test_h2o_indexed : public test_h2o_case {
    const ggml_type     type;
    const int           d;
    const int           n_head_kv;
    const int           n_cells;
    const test_h2o_kind kind; // ties: every key stands four times in the cache
    const bool          quiet; // half of the channels of a head, or more, say next to nothing

    ggml_tensor * cache = nullptr;
    ggml_tensor * out   = nullptr;

    std::vector<float> keys; // [n_cells][n_head_kv][d]

    test_h2o_indexed(ggml_type type, int d, int n_head_kv, int n_cells, test_h2o_kind kind, bool quiet = false)
        : type(type), d(d), n_head_kv(n_head_kv), n_cells(n_cells), kind(kind), quiet(quiet) {}

    std::string vars() override {
        return VARS_TO_STR5(type, d, n_head_kv, n_cells, kind);
    }

    int n_pages() const { return n_cells/GGML_H2O_PAGE; }
    int n_spans() const { return n_cells/GGML_H2O_SPAN; }

    // the cache is larger than what is in use
    ggml_tensor * build_keys(ggml_context * ctx) {
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
                row[i] = loudness[i]*(0.5f*direction[i] + uniform(gen));
            }
            if (kind == TEST_H2O_TIES && cell % 4 != 0) {
                std::copy(row - n_row, row, row);
            }
            if (kind == TEST_H2O_SPECIAL && cell % 50 == 7) {
                std::fill(row, row + n_row, 0.0f);
            }
            if (kind == TEST_H2O_SPECIAL && cell == 5) {
                row[d/2] = NAN;
            }
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

    h2o_oracle_choice landmarks_of(int span, int h) const {
        return h2o_oracle_landmarks_of([&](int cell) { return key(cell, h); }, d, span);
    }

    // [n_head_kv][n_spans*GGML_H2O_LANDMARKS]
    std::vector<int32_t> all_landmarks() const {
        std::vector<int32_t> res;
        for (int h = 0; h < n_head_kv; h++) {
            for (int span = 0; span < n_spans(); span++) {
                for (const int32_t i : landmarks_of(span, h).chosen()) {
                    res.push_back(span*GGML_H2O_SPAN + i);
                }
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
        return "h2o=pages," + test_h2o_indexed::vars() + "," + VARS_TO_STR2(begin, end);
    }

    test_h2o_pages(ggml_type type, int d, int n_head_kv, int n_cells, int begin, int end)
        : test_h2o_indexed(type, d, n_head_kv, n_cells, TEST_H2O_DISTINCT), begin(begin), end(end) {}

    ggml_tensor * build_graph(ggml_context * ctx) override {
        ggml_tensor * k = build_keys(ctx);
        pages = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_pages() + 1, n_head_kv);
        return out = ggml_h2o_pages(ctx, k, pages, begin, end);
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

// GGML_OP_H2O, LANDMARKS
struct test_h2o_landmarks : public test_h2o_indexed {
    const int begin;
    const int end;

    ggml_tensor * pages     = nullptr;
    ggml_tensor * landmarks = nullptr;

    const double tolerance = 1e-5; // of a cosine times the length of a mean key

    std::string vars() override {
        return "h2o=landmarks," + test_h2o_indexed::vars() + "," + VARS_TO_STR2(begin, end);
    }

    test_h2o_landmarks(ggml_type type, int d, int n_head_kv, int n_cells, test_h2o_kind kind, int begin, int end)
        : test_h2o_indexed(type, d, n_head_kv, n_cells, kind), begin(begin), end(end) {}

    int n_row() const { return (n_spans() + 1)*GGML_H2O_LANDMARKS; }

    ggml_tensor * build_graph(ggml_context * ctx) override {
        ggml_tensor * k = build_keys(ctx);
        pages     = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_pages(), n_head_kv);
        landmarks = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_row(), n_head_kv);
        return out = ggml_h2o_landmarks(ctx, k, pages, landmarks, begin, end);
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { cache, pages, landmarks, out });

        std::mt19937 gen(n_cells);
        initialize_keys(gen);
        set_data(pages, all_pages());

        std::vector<int32_t> before(n_row()*n_head_kv);
        for (int32_t & x : before) {
            x = gen() % 10000;
        }
        set_data(landmarks, before);
        expected.assign(before.begin(), before.end());
    }

    int n_wrong(const float * got) const {
        int res = 0;
        for (int h = 0; h < n_head_kv; h++) {
            for (int span = 0; span < n_row()/GGML_H2O_LANDMARKS; span++) {
                const size_t  at  = (size_t) h*n_row() + span*GGML_H2O_LANDMARKS;
                const float * row = got + at;

                if (span < begin || span >= end) {
                    res += !std::equal(row, row + GGML_H2O_LANDMARKS, expected.begin() + at);
                    continue;
                }
                std::vector<char> is_in(GGML_H2O_SPAN, 0);
                for (int i = 0; i < GGML_H2O_LANDMARKS; i++) {
                    const int key = (int) row[i] - span*GGML_H2O_SPAN;

                    res += (i > 0 && row[i] <= row[i - 1]) || key < 0 || key >= GGML_H2O_SPAN;
                    is_in[std::min(std::max(key, 0), GGML_H2O_SPAN - 1)] = 1;
                }
                res += !landmarks_of(span, h).allows(is_in, tolerance);
            }
        }
        return res;
    }

    // spans that either backend has wrong
    double err(const float * a, const float * b, size_t n) override {
        if (n != expected.size()) {
            return test_case::err(a, b, n);
        }
        return n_wrong(a) + n_wrong(b);
    }
};

// GGML_OP_H2O, QUERY. The queries of a block and head are drawn anew until the choices on the way to their set are clear:
// of needy queries, of landmarks and of pages. The last one is compared with tolerance.
struct test_h2o_query : public test_h2o_indexed {
    const int n_group;
    const int n_queries;
    const int pos;
    const int n_local;
    const int n_heavy;

    const int n_head = n_head_kv*n_group;
    const int n_near = std::min(n_local, pos);
    const int n_cand = pos - n_near;
    const int n_set  = std::min(n_cand, n_heavy);
    const int n_sets = (n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK;

    const double tolerance = 5e-4; // of a logit
    const double ranking   = 1e-2; // the same, where a device rounds to F16 what only ranks landmarks and pages

    // a search of keys may round: to BF16 with AMX, to 8 bits on other CPUs (to 7 where they have no VNNI), to F16 on a device
    const double rounding = may_use("H2O_AMX") || may_use("H2O_INT8") ? 0.2 : tolerance;

    // it is, where the processor has it
    static bool may_use(const char * name) {
        const char * value = getenv(name);
        return !value || atoi(value) != 0;
    }

    ggml_tensor * q         = nullptr;
    ggml_tensor * lse       = nullptr;
    ggml_tensor * pages     = nullptr;
    ggml_tensor * landmarks = nullptr;

    std::vector<float>   qs;     // [n_queries][n_head][d]
    std::vector<float>   ls;     // [n_queries][n_head]
    std::vector<float>   means;  // [n_head_kv][n_pages][d]
    std::vector<int32_t> marks;  // [n_head_kv][n_spans*GGML_H2O_LANDMARKS]

    std::vector<h2o_oracle_decision> decisions; // [n_sets][n_head]

    std::string vars() override {
        return "h2o=query," + test_h2o_indexed::vars() + "," + VARS_TO_STR5(n_group, n_queries, pos, n_local, n_heavy);
    }

    test_h2o_query(ggml_type type, int d, int n_group, int n_head_kv, int n_queries, int pos, int n_local, int n_heavy,
            test_h2o_kind kind = TEST_H2O_DISTINCT)
        // by 8 bits half of the channels of a large head count
        : test_h2o_indexed(type, d, n_head_kv, pos + n_queries, kind, may_use("H2O_INT8") && d >= 64),
          n_group(n_group), n_queries(n_queries), pos(pos), n_local(n_local), n_heavy(n_heavy) {}

    float scale() const { return 1.0f/std::sqrt((float) d); }

    ggml_tensor * build_graph(ggml_context * ctx) override {
        q   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_head_kv*n_group, n_queries);
        lse = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 1, n_head_kv*n_group, n_queries);
        ggml_tensor * k = build_keys(ctx);

        // wider than what is complete
        pages     = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_pages() + 2, n_head_kv);
        landmarks = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, (n_spans() + 1)*GGML_H2O_LANDMARKS, n_head_kv);

        return out = ggml_h2o_query(ctx, q, lse, k, pages, landmarks, pos, n_local, n_heavy, scale());
    }

    // -> false if a choice on the way is not clear
    bool decide(int block, int h) {
        const int begin = block*GGML_H2O_BLOCK;
        const int h_kv  = h/n_group;

        const auto row = [&](int i) { return (size_t) (begin + i)*n_head + h; };

        const auto   first  = marks.begin() + (size_t) h_kv*n_spans()*GGML_H2O_LANDMARKS;
        const size_t n_mark = pos/GGML_H2O_SPAN*GGML_H2O_LANDMARKS;

        decisions.push_back(h2o_oracle_query(
                { d, scale(), std::min(GGML_H2O_BLOCK, n_queries - begin), begin, n_near, n_cand, n_heavy,
                  means.data() + (size_t) h_kv*n_pages()*d, { first, first + n_mark } },
                [&](int i) { return qs.data() + row(i)*d; },
                [&](int i) { return (double) ls[row(i)]; },
                [&](int cell) { return key(cell, h_kv); }));

        const h2o_oracle_decision & e = decisions.back();
        return e.needy.is_clear(tolerance) && e.wanted.is_clear(ranking) && e.picked.is_clear(ranking);
    }

    // queries of a block and head, and what their surroundings give them
    void draw(std::mt19937 & gen, int block, int h) {
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);

        // so much that most keys are wanted, some pages have a wanted one, few have, or none
        const float plenty = std::array<float, 4> { 5.0f, 10.0f, 15.0f, 25.0f }[gen() % 4];

        for (int i = block*GGML_H2O_BLOCK; i < std::min((block + 1)*GGML_H2O_BLOCK, n_queries); i++) {
            for (int j = 0; j < d; j++) {
                qs[((size_t) i*n_head + h)*d + j] = 8.0f*uniform(gen);
            }
            ls[(size_t) i*n_head + h] = plenty + 4.0f*uniform(gen);
        }
        if (kind == TEST_H2O_SPECIAL) {
            qs[d/2]        = NAN; // the first query of the first head, as attention would have left it
            ls[0]          = NAN;
            ls.back()      = -INFINITY;
            ls[n_queries/2] = -40.0f; // much needed
        }
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { cache, q, lse, pages, landmarks, out });

        std::mt19937 gen(pos + n_heavy);

        initialize_keys(gen);
        means = all_pages();
        marks = all_landmarks();

        qs.resize((size_t) n_queries*n_head*d);
        ls.resize((size_t) n_queries*n_head);

        decisions.clear();
        for (int block = 0; block < n_sets; block++) {
            for (int h = 0; h < n_head; h++) {
                draw(gen, block, h);

                bool is_clear = n_set == n_cand || decide(block, h);
                for (int i = 0; i < 200 && !is_clear; i++) {
                    decisions.pop_back();
                    draw(gen, block, h);
                    is_clear = decide(block, h);
                }
                GGML_ASSERT(is_clear && "no inputs whose choices are clear");
            }
        }

        set_data(q,   qs);
        set_data(lse, ls);

        // what is not complete is not read
        const auto set_rows = [&](ggml_tensor * t, const auto & rows, auto value) {
            std::vector<decltype(value)> all(ggml_nelements(t), value);
            const size_t n   = rows.size()/n_head_kv;
            const size_t row = all.size()/n_head_kv;
            for (int h = 0; h < n_head_kv; h++) {
                std::copy(rows.begin() + h*n, rows.begin() + (h + 1)*n, all.begin() + h*row);
            }
            set_data(t, all);
        };
        set_rows(pages,     means, NAN);
        set_rows(landmarks, marks, 0x7fffffff);
    }

    bool is_right(const float * got, const h2o_oracle_decision & e) const {
        std::vector<char> is_in(n_cand, 0);
        for (int i = 0; i < n_set; i++) {
            const bool is_repeated = i > 0 && got[i] == got[i - 1] && got[i] == got[n_set - 1];

            if ((i > 0 && got[i] <= got[i - 1] && !is_repeated) || got[i] < 0 || got[i] >= n_cand) {
                return false;
            }
            is_in[(int) got[i]] = 1;
        }
        for (const int32_t x : e.by_need) {
            if (!is_in[x]) {
                return false;
            }
        }
        std::vector<char> rest;
        for (const int32_t x : e.others) {
            rest.push_back(is_in[x]);
        }
        return e.rest.allows(rest, rounding) &&
            std::count(is_in.begin(), is_in.end(), 1) == (long) e.by_need.size() + std::count(rest.begin(), rest.end(), 1);
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
                    n_wrong += !is_right(set, decisions[i]);
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
    const auto distinct = TEST_H2O_DISTINCT;
    const auto ties     = TEST_H2O_TIES;
    const auto special  = TEST_H2O_SPECIAL;

    for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0 }) {
        for (const int d : { 64, 80, 96, 128, 256 }) {
            if (d % ggml_blck_size(type) != 0) {
                continue;
            }
            cases.emplace_back(new test_h2o_pages    (type, d, 3,  700,           0, 10));
            cases.emplace_back(new test_h2o_pages    (type, d, 2,  700,           7,  8));
            cases.emplace_back(new test_h2o_landmarks(type, d, 2, 1100, distinct, 0,  4));
            cases.emplace_back(new test_h2o_landmarks(type, d, 3, 1100, distinct, 2,  3));

            cases.emplace_back(new test_h2o_query(type, d, 2, 2, 100, 2900, 64, 64));
        }
        // NaN has no place in a quantised key
        cases.emplace_back(new test_h2o_landmarks(type, 64, 2, 800, ties, 0, 3));
        cases.emplace_back(new test_h2o_query(type, 64, 2, 2, 70, 2900, 64, 64, ties));
        if (!ggml_is_quantized(type)) {
            cases.emplace_back(new test_h2o_landmarks(type, 64, 2, 800, special, 0, 3));
            cases.emplace_back(new test_h2o_query(type, 64, 2, 2, 70, 2900, 64, 64, special));
            cases.emplace_back(new test_h2o_query(type, 64, 2, 2, 70,  800, 64, 64, special)); // searches the NaN
        }
    }
    for (const ggml_type type : { GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 }) {
        cases.emplace_back(new test_h2o_pages    (type, 128, 3,  700,           0, 10));
        cases.emplace_back(new test_h2o_landmarks(type,  64, 2, 1100, distinct, 0,  4));
        cases.emplace_back(new test_h2o_query    (type, 128, 2, 2, 100, 2900, 64, 64));
    }
    const auto add = [&](ggml_type type, int d, int n_group, int n_head_kv, int n_queries, int pos, int n_local, int n_heavy) {
        cases.emplace_back(new test_h2o_query(type, d, n_group, n_head_kv, n_queries, pos, n_local, n_heavy));
    };
    const ggml_type f16 = GGML_TYPE_F16;

    for (const int n_group : { 1, 2, 3, 4, 5, 6, 7, 8, 20 }) {
        add(f16, 64, n_group, 1, 66, 2500, 32, 48);
    }
    add(f16, 72, 2, 2, 66, 2500, 32, 48); // not whole vectors

    // all candidates; one more than can be chosen
    add(f16, 64, 2, 2, 130, 100, 40, 60);
    add(f16, 64, 2, 2, 130, 100, 40, 90);
    add(f16, 64, 2, 2, 130, 101, 40, 60);
    add(f16, 64, 2, 2, 130, 601, 40, 560);
    // no landmarks: no span is complete, or Heavy is too small for any
    add(f16, 64, 2, 2, 64, 255, 0, 60);
    add(f16, 64, 2, 2, 64, 700, 0, 3);
    // candidates end in a page and a span: before the last span that is complete, at its end, behind it
    add(f16, 64, 2, 2, 64, 2816, 101, 64);
    add(f16, 64, 2, 2, 64, 2816, 256, 64);
    add(f16, 64, 2, 2, 64, 2817,   0, 64);
    add(f16, 64, 2, 2, 64, 2879,   0, 64);
    add(f16, 64, 2, 2, 64, 2780, 900, 64);
    // a block of fewer queries than can be needy
    add(f16,           64, 2, 2,   1, 2780, 64, 64);
    add(f16,           64, 3, 2,  67, 2780, 64, 64);
    add(GGML_TYPE_F32, 64, 4, 2, 130, 2780, 64, 64);
    // more landmarks and pages than a tile of a GPU's products has, and than it has threads
    add(f16, 96, 2, 1, 66, 16900, 64, 64);
    add(f16, 96, 1, 1, 66, 66000, 64, 64);
    // sets that end where no query gives a key enough
    add(f16, 64, 2, 1, 100, 3000, 64, 2400);
    add(f16, 64, 2, 1,  66, 9900, 64, 6000);
    // more pages to search than 32; a chunk of a real size
    add(f16, 64, 2, 1, 100, 3400,  64, 240);
    add(f16, 64, 2, 1, 512, 3000, 256, 256);
}
