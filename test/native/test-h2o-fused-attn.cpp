// GGML_OP_H2O, ATTN: output, row statistics and votes of a block, against the oracle: a chunk and its own keys, with some
// before it or without, or a memory set, or a set for each query head and block of queries, alone or on top of the state of
// other keys, in every type and layout that a KV cache has, for odd sizes, 1 to 8 threads.

#include "testing.h"

#include "ops/ggml-h2o.h"
#include "tests/h2o-oracle.h"

#include <algorithm>
#include <cmath>

struct problem {
    int d_k;
    int d_v;
    int n_group;
    int n_queries; // per chunk
    int n_head_kv;
    int n_chunks;
    int n_cells;
    int pos;       // cell of the first key; causal only

    bool causal;   // the chunks' own keys, else a memory set
    int  n_near;   // keys before each chunk that it sees too; causal only
    int  n_mem;
    int  n_sets;   // 1 for all queries, or 1 per block

    bool has_blocks; // a set for each query head and block; then nobody votes

    bool has_state;
    bool v_trans;

    ggml_type type_k;
    ggml_type type_v;

    int n_rows() const { return n_queries*n_group; }
    int n_keys() const { return causal ? n_near + n_queries : n_mem; }

    int n_set_heads() const { return has_blocks ? n_head_kv*n_group : n_head_kv; }
};

static problem random_problem(test_random & rnd) {
    const int       d[]    = { 32, 64, 80, 96, 128, 256 };
    const ggml_type type[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0 };

    problem p;
    p.type_k    = type[rnd.integer(0, 4)];
    p.type_v    = type[rnd.integer(0, 4)];
    p.d_k       = d[rnd.integer(0, 5)];
    p.d_v       = rnd.integer(0, 3) ? p.d_k : d[rnd.integer(0, 5)];
    p.v_trans   = !ggml_is_quantized(p.type_v) && rnd.integer(0, 1);
    p.causal    = rnd.integer(0, 1);
    p.n_group   = rnd.integer(1, 8);
    p.n_queries = rnd.integer(0, 3) ? rnd.integer(1, 70) : rnd.integer(1, 300);
    p.n_head_kv = rnd.integer(1, 3);
    p.n_chunks  = p.causal ? rnd.integer(1, 3) : 1;
    p.has_state = rnd.integer(0, 1);
    p.pos       = rnd.integer(0, 20);
    p.n_near    = p.causal && rnd.integer(0, 1) ? rnd.integer(1, 150) : 0;
    // chunks overlap by what is near, and ggml asks of a view to fit as if they did not
    p.n_cells   = p.pos + (p.n_near + p.n_queries)*p.n_chunks + rnd.integer(1, 200);
    p.has_blocks = !p.causal && rnd.integer(0, 1);
    p.n_sets    = p.has_blocks ? (p.n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK : 1;
    p.n_mem     = rnd.integer(1, p.n_cells);

    // the rows of a quantised cache hold whole blocks
    if (ggml_is_quantized(p.type_k)) { p.d_k = p.d_k/32*32; }
    if (ggml_is_quantized(p.type_v)) { p.d_v = p.d_v/32*32; }
    return p;
}

static std::vector<float> random_values(test_random & rnd, size_t n, float range) {
    std::vector<float> res(n);
    for (float & x : res) {
        x = rnd.uniform(-range, range);
    }
    return res;
}

// values in a type, and what is left of them there
static std::vector<uint8_t> round_to_type(ggml_type type, std::vector<float> & values, int n_per_row) {
    const std::vector<uint8_t> data = test_to_type(type, values, n_per_row);

    values = test_to_float(type, data, values.size());
    return data;
}

static void test_case(test_random & rnd) {
    const problem p = random_problem(rnd);

    const int   n_rows = p.n_rows();
    const int   n_keys = p.n_keys();
    const int   n_head = p.n_head_kv;
    const float scale  = 1.0f/std::sqrt((float) p.d_k);

    // K: cell by cell; V: the same, or channel by channel
    test_graph g;
    ggml_tensor * q       = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, p.d_k, n_head*p.n_group, p.n_queries, p.n_chunks);
    ggml_tensor * k_cache = ggml_new_tensor_2d(g.ctx.get(), p.type_k, p.d_k*n_head, p.n_cells);
    ggml_tensor * v_cache = p.v_trans
        ? ggml_new_tensor_2d(g.ctx.get(), p.type_v, p.n_cells, p.d_v*n_head)
        : ggml_new_tensor_2d(g.ctx.get(), p.type_v, p.d_v*n_head, p.n_cells);

    const size_t nb_k  = ggml_row_size(p.type_k, p.d_k);
    const size_t nb_v  = ggml_row_size(p.type_v, p.d_v);
    const size_t nb_vt = ggml_type_size(p.type_v);

    const int n_seen = p.causal ? n_keys : p.n_cells; // cells of a chunk's view
    const int n_next = p.n_queries;                   // cells from chunk to chunk
    const int begin  = p.causal ? p.pos       : 0;

    ggml_tensor * k = ggml_view_4d(g.ctx.get(), k_cache, p.d_k, n_seen, n_head, p.n_chunks,
            k_cache->nb[1], nb_k, n_next*k_cache->nb[1], begin*k_cache->nb[1]);
    ggml_tensor * v = p.v_trans
        ? ggml_view_4d(g.ctx.get(), v_cache, n_seen, p.d_v, n_head, p.n_chunks,
            v_cache->nb[1], p.d_v*v_cache->nb[1], n_next*nb_vt, begin*nb_vt)
        : ggml_view_4d(g.ctx.get(), v_cache, p.d_v, n_seen, n_head, p.n_chunks,
            v_cache->nb[1], nb_v, n_next*v_cache->nb[1], begin*v_cache->nb[1]);

    ggml_tensor * set = p.causal ? nullptr : ggml_new_tensor_3d(g.ctx.get(), GGML_TYPE_I32, p.n_mem, p.n_set_heads(), p.n_sets);
    ggml_tensor * o   = p.has_state ? ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, p.d_v, n_head*p.n_group, p.n_queries, p.n_chunks) : nullptr;
    ggml_tensor * lse = p.has_state ? ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 1,     n_head*p.n_group, p.n_queries, p.n_chunks) : nullptr;

    const bool has_votes = !p.has_blocks;

    ggml_tensor * result = ggml_h2o_attn(g.ctx.get(), q, k, v, set, o, lse, p.v_trans, p.causal, has_votes, scale);
    ggml_tensor * quiet  = ggml_h2o_attn(g.ctx.get(), q, k, v, set, o, lse, p.v_trans, p.causal, false, scale);

    std::vector<float> q_values   = random_values(rnd, ggml_nelements(q),       3.0f);
    std::vector<float> k_values   = random_values(rnd, ggml_nelements(k_cache), 3.0f);
    std::vector<float> v_values   = random_values(rnd, ggml_nelements(v_cache), 1.0f);
    std::vector<float> o_values   = random_values(rnd, p.has_state ? ggml_nelements(o)   : 0, 1.0f);
    std::vector<float> lse_values = random_values(rnd, p.has_state ? ggml_nelements(lse) : 0, 10.0f);

    std::vector<int32_t> members;
    for (int i = 0; !p.causal && i < p.n_set_heads()*p.n_sets; ++i) {
        std::vector<int32_t> all(p.n_cells);
        for (int i = 0; i < p.n_cells; ++i) {
            all[i] = i;
        }
        std::shuffle(all.begin(), all.end(), rnd.engine);
        std::sort(all.begin(), all.begin() + p.n_mem);
        members.insert(members.end(), all.begin(), all.begin() + p.n_mem);
    }

    g.alloc();
    test_set(q, q_values);
    test_set(k_cache, round_to_type(p.type_k, k_values, p.d_k));
    test_set(v_cache, round_to_type(p.type_v, v_values, p.v_trans ? p.n_cells : p.d_v));
    if (set) {
        test_set(set, members);
    }
    if (p.has_state) {
        test_set(o,   o_values);
        test_set(lse, lse_values);
    }
    g.compute({ result, quiet }, rnd.integer(1, 8));

    const std::vector<float> got = test_get<float>(result);

    const size_t n_blocks = (size_t) n_head*p.n_chunks;
    CHECK(got.size() == n_blocks*(n_rows*(p.d_v + 1) + (has_votes ? n_keys : 0)));

    // of outputs between -1 and 1; logits reach 50
    const auto is_near = [](double a, double b, double tolerance) { return std::fabs(a - b) <= tolerance*std::max(1.0, std::fabs(b)); };

    // without votes a processor may have other instructions, which round what is not F32
    const double exact   = 1e-4;
    const char * int16   = getenv("H2O_INT16");
    const bool   rounds  = (!int16 || atoi(int16) != 0) && p.type_k != GGML_TYPE_F32 && p.type_v != GGML_TYPE_F32;
    const double rounded = rounds ? 2e-3 : exact;

    const auto near = [&](double a, double b) { return is_near(a, b, has_votes ? exact : rounded); };

    // without votes: the same, and no more
    const std::vector<float> rest = test_get<float>(quiet);
    CHECK(rest.size() == n_blocks*n_rows*(p.d_v + 1));
    CHECK(std::equal(rest.begin(), rest.end(), got.begin(), [&](double a, double b) { return is_near(a, b, rounded); }));

    g.compute({ result, quiet }, rnd.integer(1, 8));
    CHECK(test_get<float>(result) == got && test_get<float>(quiet) == rest);

    const auto cells = [&](int c, int i, int head) {
        std::vector<int> res(p.causal ? p.n_near + i + 1 : p.n_mem);

        const int i_set = p.has_blocks ? i/GGML_H2O_BLOCK*p.n_set_heads() + head : head/p.n_group;
        for (size_t j = 0; j < res.size(); ++j) {
            res[j] = p.causal ? p.pos + c*p.n_queries + (int) j : members[(size_t) i_set*p.n_mem + j];
        }
        return res;
    };
    const std::vector<double> expected = h2o_oracle_attn(
            { p.d_k, p.d_v, p.n_group, n_head, p.n_queries, p.n_chunks }, scale, q_values.data(), cells,
            [&](int cell, int h) { return k_values.data() + ((size_t) cell*n_head + h)*p.d_k; },
            [&](int cell, int h, int i) {
                return v_values[p.v_trans ? ((size_t) h*p.d_v + i)*p.n_cells + cell : ((size_t) cell*n_head + h)*p.d_v + i];
            },
            p.has_state ? o_values.data() : nullptr, p.has_state ? lse_values.data() : nullptr, has_votes ? n_keys : 0);

    CHECK(std::equal(got.begin(), got.end(), expected.begin(), expected.end(), near));
}

// argument: how many cases
int main(int argc, char ** argv) {
    test_random rnd;

    const int n_cases = argc > 1 ? atoi(argv[1]) : 150;

    for (int i = 0; i < n_cases; ++i) {
        test_case(rnd);
    }

    printf("H2O fused attention checks passed\n");
    return 0;
}
