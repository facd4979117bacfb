// GGML_OP_H2O, ATTN, as cases of test-backend-ops; part of test-backend-ops-h2o.h.

#pragma once

#include "h2o-oracle.h"

// what the queries of a case see
struct test_h2o_keys {
    int  n_mem;              // keys of a memory set; 0: causal attention over the chunk
    int  n_near     = 0;     // keys before the chunk, causal only
    bool has_blocks = false; // a set for each query head and block of queries
    bool has_order  = false; // blocks are not of neighbours
    bool has_votes  = !has_blocks;
};

// a chunk over its own keys and those before them, or over memory sets, read from a KV cache by strides
struct test_h2o_attn : public test_h2o_case {
    const ggml_type type_k;
    const ggml_type type_v;

    const int  d_k;
    const int  d_v;
    const int  n_group;
    const int  n_queries; // per chunk
    const int  n_head_kv;
    const int  n_chunks;
    const int  n_mem;
    const int  n_near;
    const bool has_blocks;
    const bool has_order;
    const bool has_votes;
    const bool v_trans;
    const bool has_state; // on top of a state over other keys

    float q_max = 8.0f; // attention that is not near uniform

    const int pos     = n_queries % 7; // cell of the first key, causal only
    const int n_rows  = n_queries*n_group;
    const int n_keys  = n_mem ? n_mem : n_near + n_queries;
    const int n_cells = pos + n_near + n_chunks*n_queries + n_mem + 5;
    const int n_set_heads = has_blocks ? n_head_kv*n_group : n_head_kv;
    const int n_sets  = has_blocks ? (n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK : 1;

    ggml_tensor * q       = nullptr;
    ggml_tensor * k_cache = nullptr;
    ggml_tensor * v_cache = nullptr;
    ggml_tensor * set     = nullptr;
    ggml_tensor * order   = nullptr;
    ggml_tensor * o       = nullptr;
    ggml_tensor * lse     = nullptr;

    std::string vars() override {
        return "h2o=attn," + VARS_TO_STR12(type_k, type_v, d_k, n_group, n_queries, n_head_kv, n_chunks, n_mem, n_near, has_blocks,
                v_trans, has_state) + "," + VARS_TO_STR3(d_v, has_votes, has_order);
    }

    test_h2o_attn(ggml_type type_k, ggml_type type_v, int d, int n_group, int n_queries, int n_head_kv, int n_chunks,
            test_h2o_keys keys, bool v_trans, bool has_state, int d_v = 0)
        : type_k(type_k), type_v(type_v), d_k(d), d_v(d_v ? d_v : d), n_group(n_group), n_queries(n_queries), n_head_kv(n_head_kv),
          n_chunks(n_chunks), n_mem(keys.n_mem), n_near(keys.n_near), has_blocks(keys.has_blocks), has_order(keys.has_order),
          has_votes(keys.has_votes), v_trans(v_trans), has_state(has_state) {}

    float scale() const {
        return 1.0f/std::sqrt((float) d_k);
    }

    ggml_tensor * build_graph(ggml_context * ctx) override {
        q       = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, d_k, n_head_kv*n_group, n_queries, n_chunks);
        k_cache = ggml_new_tensor_2d(ctx, type_k, d_k*n_head_kv, n_cells);
        v_cache = v_trans ? ggml_new_tensor_2d(ctx, type_v, n_cells, d_v*n_head_kv)
                          : ggml_new_tensor_2d(ctx, type_v, d_v*n_head_kv, n_cells);
        set     = n_mem     ? ggml_new_tensor_3d(ctx, GGML_TYPE_I32, n_mem, n_set_heads, n_sets) : nullptr;
        order   = has_order ? ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_queries, n_set_heads) : nullptr;
        o       = has_state ? ggml_new_tensor_4d(ctx, GGML_TYPE_F32, d_v, n_head_kv*n_group, n_queries, n_chunks) : nullptr;
        lse     = has_state ? ggml_new_tensor_3d(ctx, GGML_TYPE_F32, n_head_kv*n_group, n_queries, n_chunks) : nullptr;

        // a memory set chooses from all cells; chunks share the keys before them, so their views overlap
        const int n = n_mem ? n_cells : n_keys;
        const int p = n_mem ? 0 : pos;

        // ggml counts the keys of every chunk: it takes such a view with one of them only
        const auto with_keys = [&](ggml_tensor * view, int dim) {
            view->ne[dim] = n;
            return view;
        };
        const auto rows = [&](ggml_tensor * cache, int d) {
            return with_keys(ggml_view_4d(ctx, cache, d, 1, n_head_kv, n_chunks, cache->nb[1], ggml_row_size(cache->type, d),
                    n_queries*cache->nb[1], p*cache->nb[1]), 1);
        };
        ggml_tensor * k = rows(k_cache, d_k);
        ggml_tensor * v = v_trans ? with_keys(ggml_view_4d(ctx, v_cache, 1, d_v, n_head_kv, n_chunks, v_cache->nb[1], d_v*v_cache->nb[1],
                                            n_queries*v_cache->nb[0], p*v_cache->nb[0]), 0)
                                  : rows(v_cache, d_v);

        return ggml_h2o_attn(ctx, q, k, v, set, order, o, lse, v_trans, !n_mem, has_votes, scale());
    }

    void initialize_tensors(ggml_context * ctx) override {
        initialize_others(ctx, { q, set, order, lse });
        init_tensor_uniform(q, -q_max, q_max);

        std::mt19937 gen(n_keys);
        std::vector<int32_t> idxs;
        if (set) {
            idxs = ascending_per_head(gen, n_mem, n_cells, n_set_heads*n_sets);
            // every second set has fewer members, and its last one again behind them
            for (size_t i = n_mem; has_blocks && i < idxs.size(); i += 2*n_mem) {
                const int n = 1 + gen() % n_mem;
                std::fill(idxs.begin() + i + n, idxs.begin() + i + n_mem, idxs[i + n - 1]);
            }
            set_data(set, idxs);
        }
        std::vector<int32_t> place(n_queries*n_set_heads); // of a query among those of its head
        if (order) {
            const std::vector<int32_t> queries = some_order(gen, n_queries, n_set_heads);
            for (size_t i = 0; i < queries.size(); i++) {
                place[i/n_queries*n_queries + queries[i]] = i % n_queries;
            }
            set_data(order, queries);
        }
        if (lse) {
            init_tensor_uniform(lse, -2.0f, 8.0f);
        }

        const std::vector<float> qs = tensor_to_float(q);
        const std::vector<float> ks = tensor_to_float(k_cache);
        const std::vector<float> vs = tensor_to_float(v_cache);
        const std::vector<float> os = o   ? tensor_to_float(o)   : std::vector<float>();
        const std::vector<float> ls = lse ? tensor_to_float(lse) : std::vector<float>();

        const auto cells = [&](int c, int i, int head) {
            std::vector<int> res(n_mem ? n_mem : n_near + i + 1);

            const int    at    = has_order  ? place[(size_t) head*n_queries + i] : i;
            const size_t i_set = has_blocks ? (size_t) at/GGML_H2O_BLOCK*n_set_heads + head : head/n_group;
            for (size_t j = 0; j < res.size(); j++) {
                res[j] = n_mem ? idxs[i_set*n_mem + j] : pos + c*n_queries + (int) j;
            }
            res.erase(std::unique(res.begin(), res.end()), res.end());
            return res;
        };
        const std::vector<double> result = h2o_oracle_attn(
                { d_k, d_v, n_group, n_head_kv, n_queries, n_chunks }, scale(), qs.data(), cells,
                [&](int cell, int h) { return ks.data() + ((size_t) cell*n_head_kv + h)*d_k; },
                [&](int cell, int h, int i) { return vs[v_trans ? (size_t) (h*d_v + i)*n_cells + cell : ((size_t) cell*n_head_kv + h)*d_v + i]; },
                o ? os.data() : nullptr, lse ? ls.data() : nullptr, has_votes ? n_keys : 0);

        expected.assign(result.begin(), result.end());
    }

    // the largest of output, row statistics and votes
    double err(const float * a, const float * b, size_t n) override {
        if (n != expected.size()) {
            return test_case::err(a, b, n);
        }
        const size_t n_state = (size_t) n_rows*n_head_kv*n_chunks;
        const size_t ends[]  = { d_v*n_state, (d_v + 1)*n_state, n };

        double res   = 0.0;
        size_t begin = 0;
        for (const size_t end : ends) {
            res   = begin == end ? res : larger(res, larger_nmse(a, b, begin, end)); // there may be no votes
            begin = end;
        }
        return res;
    }

    // a backend may round queries to what it multiplies the keys with
    double max_nmse_err() override {
        return ggml_is_quantized(type_k) ? 5e-4 : type_k == GGML_TYPE_F32 && type_v == GGML_TYPE_F32 ? 1e-9 : 1e-5;
    }
};

inline void h2o_add_test_cases_attn(std::vector<std::unique_ptr<test_case>> & cases) {
    const auto add = [&](auto... args) { cases.emplace_back(new test_h2o_attn(args...)); };

    // sets of n_mem keys; a set for each block of queries, of which the last may be short, of neighbours or not; Local of any
    // length before a chunk
    const auto set    = [](int n_mem)  { return test_h2o_keys{ n_mem }; };
    const auto blocks = [](int n_mem)  { return test_h2o_keys{ n_mem, 0, true }; };
    const auto mixed  = [](int n_mem)  { return test_h2o_keys{ n_mem, 0, true, true }; };
    const auto local  = [](int n_near) { return test_h2o_keys{ 0, n_near }; };
    const auto chunk  = set(0);

    const ggml_type f32 = GGML_TYPE_F32, f16 = GGML_TYPE_F16, q8_0 = GGML_TYPE_Q8_0;

    // every type and layout of a cache
    for (const ggml_type type : { f32, f16, GGML_TYPE_BF16, q8_0 }) {
        for (const bool v_trans : { false, true }) {
            if (v_trans && ggml_is_quantized(type)) {
                continue;
            }
            for (const bool has_state : { false, true }) {
                add(type, type, 128, 2,  64, 2, 3, chunk,       v_trans, has_state);
                add(type, type,  64, 7,  33, 1, 1, chunk,       v_trans, has_state);
                add(type, type, 128, 2,  64, 2, 1, set(100),    v_trans, has_state);
                add(type, type,  64, 7,  33, 1, 1, set(37),     v_trans, has_state);
                add(type, type, 128, 2, 128, 2, 1, blocks(100), v_trans, has_state);
                add(type, type,  64, 7,  97, 2, 1, blocks(37),  v_trans, has_state);
                add(type, type,  64, 7,  97, 2, 1, mixed(37),   v_trans, has_state);
                add(type, type, 128, 2, 193, 2, 1, mixed(100),  v_trans, has_state);
            }
            add(type, type, 128, 2, 64, 2, 3, local(32), v_trans, false);
            add(type, type,  64, 7, 33, 1, 2, local(45), v_trans, true);
        }
    }
    for (const ggml_type type : { GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 }) {
        add(type, type, 128, 2,  64, 2, 3, chunk,      false, true);
        add(type, f16,   64, 7,  33, 1, 1, set(37),    true,  true);
        add(type, f32,   64, 7,  33, 1, 1, set(37),    false, true);
        add(f16,  type,  96, 4, 170, 2, 1, blocks(90), false, true);
        add(type, type,  96, 4, 170, 2, 1, mixed(90),  false, true);
    }
    // sizes of heads
    for (const int d : { 80, 96, 256 }) {
        for (const ggml_type type : { f16, f32 }) {
            add(type, type, d, 4,  50, 3, 2, chunk,      false, false);
            add(type, type, d, 4,  50, 3, 1, set(70),    false, true);
            add(type, type, d, 3,  33, 2, 1, set(70),    true,  false);
            add(type, type, d, 3, 170, 2, 1, blocks(90), false, true);
            add(type, type, d, 3, 170, 2, 1, mixed(90),  false, true);
            add(type, type, d, 4, 129, 1, 1, blocks(1),  true,  false);
            add(type, type, d, 4,  64, 2, 1, blocks(700), false, true);
            add(type, type, d, 3,  70, 2, 1, blocks(700), true,  false);
        }
    }
    add(q8_0, q8_0,  96, 4,  50, 3, 2, chunk,     false, true);
    add(q8_0, q8_0, 256, 4,  50, 3, 1, set(70),   false, true);
    add(f16,  f16,   80, 4,   1, 3, 1, local(200), false, false);
    add(f16,  f16,  256, 2, 100, 1, 2, local(77),  true,  false);
    add(f32,  f32,  256, 2,  50, 1, 2, local(77),  false, false);
    // sizes of groups
    for (int n_group = 1; n_group <= 8; n_group++) {
        add(f16, f16, 64, n_group, 150, 2, 1, blocks(70), false, true);
        add(f16, f16, 64, n_group, 150, 2, 1, mixed(70),  false, true);
        add(f32, f32, 64, n_group,  65, 1, 1, blocks(33), false, true);
        add(f16, f16, 96, n_group,  70, 2, 2, local(1),   false, false);
    }
    // one query, one key; of a single head the row statistics are one number, and near 0 any rounding of it is large
    add(f16, f16, 64, 1, 1, 4, 1, chunk,  true, false);
    add(f16, f16, 64, 1, 1, 4, 1, set(1), true, true);
    // keys and values of different types
    add(q8_0, f16, 128, 2,  64, 2, 1, set(100),    true,  true);
    add(q8_0, f16, 128, 4, 200, 2, 1, blocks(256), true,  true);
    add(f32,  f16, 128, 4,  50, 3, 1, set(70),     false, true);
    // a chunk of a real size
    add(f16, f16, 128, 2, 512, 2, 2, chunk,      false, false);
    add(f16, f16, 128, 2, 512, 2, 1, set(511),   false, true);
    add(f16, f16, 128, 2, 512, 2, 1, mixed(640), false, true);
    add(f16, f16, 128, 2, 512, 2, 2, local(256), false, false);
}
